#pragma once
// From a configuration as it is written to one that can be run, once the training units are counted and the model is
// described.
#include <cstdint>
#include <functional>
#include <optional>

#include "config/open_keys.hpp"
#include "config/spec.hpp"
#include "models/architecture/model_config.hpp"

namespace rldp::ranks {
class team;
}

namespace rldp::actors {

/// By what a learning rate is chosen. Open lora.targets count as every linear module. Errors: bad_input for a word of
/// them that matches nothing.
config::adapted_model describe_adapted(const config::run_config& config, const models::model_config& model);

/// model.shard, where it is open: true where one process could not hold the whole base, but ranks can. For who asks
/// before there are any.
std::optional<config::choice> propose_sharing(config::run_config& config, const models::model_config& model);

/// model.shard of a run over ranks, where it is open: as rank 0 has it; where that has none either, true where one of
/// them can't hold the whole base, which `holds` tells of this one, given how many ranks its machine has, and where a
/// share is less. Else it stays open, and other ranks may choose anew. All ranks call it, and choose the same. Errors:
/// bad_input where their settings differ.
std::optional<config::choice> choose_sharing(config::run_config& asked, const models::model_config& model,
                                             ranks::team& team, const std::function<bool(std::int64_t)>& holds);

/// Chooses what the configuration leaves open, for `units` training units, which are N where none is declared. Errors:
/// bad_input for q > 1, no steps, or more than a run may have, for an rl.interval that rl.controller was not prepared
/// for, and as load_policy().
config::run_spec resolve(config::run_config asked, std::int64_t units, const models::model_config& model);

}  // namespace rldp::actors
