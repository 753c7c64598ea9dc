#pragma once
// From a configuration as it is written to one that can be run, once the training units are counted and the model is
// described.
#include <cstdint>

#include "config/open_keys.hpp"
#include "config/spec.hpp"
#include "models/architecture/model_config.hpp"

namespace rldp::actors {

/// By what a learning rate is chosen. Open lora.targets count as every linear module. Errors: bad_input for a word of
/// them that matches nothing.
config::adapted_model describe_adapted(const config::run_config& config, const models::model_config& model);

/// Chooses what the configuration leaves open, for `units` training units, which are N where none is declared. Errors:
/// bad_input for q > 1, no steps, or more than a run may have, for an rl.interval that rl.controller was not prepared
/// for, and as load_policy().
config::run_spec resolve(config::run_config asked, std::int64_t units, const models::model_config& model);

}  // namespace rldp::actors
