#pragma once
// From a run's specification to the method it names, and to what that method clips as one. No CAF.
#include <memory>
#include <string>
#include <vector>

#include "actors/run/inputs.hpp"
#include "actors/run/plan.hpp"
#include "config/spec.hpp"
#include "privacy/methods/method.hpp"

namespace rldp::actors {

/// Names of the clip groups, in order.
std::vector<std::string> group_names(clip_grouping groups, const models::lora_layout& layout);

/// Which coordinates belong to which group.
std::vector<privacy::segment> make_segments(clip_grouping groups, const models::lora_layout& layout);

/// Errors: bad_input for a method that does not go with the plan.
std::unique_ptr<privacy::method> make_run_method(const config::run_spec& spec, const run_plan& plan, const run_model& model);

/// Errors: bad_input where what the method asks of a batch besides the gradient would take the whole multiplier z_0:
/// before anything is charged.
void check_noise_left(const config::run_spec& spec, const models::model_config& model,
                      const models::lora_layout& layout, const run_plan& plan);

}  // namespace rldp::actors
