#pragma once
// From a run's specification and its plan to the method it names, and to who steers it. No CAF.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/spec.hpp"
#include "privacy/methods/method.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "run/inputs.hpp"
#include "run/plan.hpp"
#include "run/train/rate_schedule.hpp"
#include "run/train/steering.hpp"
#include "run/train/training.hpp"

namespace rldp::actors {

// Method. From a run's specification to the method it names, and to what that method clips as one.

/// Names of the clip groups, in order.
std::vector<std::string> group_names(clip_grouping groups, const models::lora_layout& layout);

/// Which coordinates belong to which group.
std::vector<privacy::segment> make_segments(clip_grouping groups, const models::lora_layout& layout);

/// Errors: bad_input for a method that does not go with the plan.
std::unique_ptr<privacy::method> make_run_method(const config::run_spec& spec, const run_plan& plan,
                                                 const run_model& model);

/// Errors: bad_input where what the method asks of a batch besides the gradient would take the whole multiplier z_0:
/// before anything is charged.
void check_noise_left(const config::run_spec& spec, const models::model_config& model,
                      const models::lora_layout& layout, const run_plan& plan);

// Steering. Who steers a run and along which learning rates: from a run's specification and its plan.

/// The policy that a prepared controller follows: of a file, signed by the key in another one where that is given, or
/// the one that ships. Errors: bad_input for a file that is none.
std::shared_ptr<const rl::prepared_policy> load_policy(const std::optional<std::string>& file,
                                                       const std::optional<std::string>& signer);

/// What a schedule may depend on. Needs the plan's price, steps and groups.
rl::known_plan describe_plan(const config::run_spec& spec, const run_plan& plan);

/// Null for methods without a controller.
std::shared_ptr<rl::controller> make_run_controller(const config::run_spec& spec, const run_plan& plan);

/// A prepared policy brings both; else they are those of train.schedule and train.average.
rl::rate_schedule make_rate_schedule(const config::run_spec& spec, const run_plan& plan);
rl::average_config make_average_config(const config::run_spec& spec, const run_plan& plan);

}  // namespace rldp::actors
