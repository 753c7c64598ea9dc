#pragma once
// Who steers a run and along which learning rates: from a run's specification and its plan. No CAF.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actors/run/plan.hpp"
#include "config/spec.hpp"
#include "rl/controller.hpp"
#include "rl/iterate_average.hpp"
#include "rl/prepare/prepared_policy.hpp"
#include "rl/rate_schedule.hpp"

namespace rldp::actors {

/// The policy that a prepared controller follows: of a file, signed by the key in another one where that is given, or
/// the one that ships. `online`: it is to go on learning. Errors: bad_input for a file that is none, or not
/// for runs.
std::shared_ptr<const rl::prepared_policy> load_policy(const std::optional<std::string>& file,
                                                       const std::optional<std::string>& signer, bool online);

/// Null for methods without a controller.
std::shared_ptr<rl::controller> make_run_controller(const config::run_spec& spec, const run_plan& plan);

/// A prepared policy brings both; else they are those of train.schedule and train.average.
rl::rate_schedule make_rate_schedule(const config::run_spec& spec, const run_plan& plan);
rl::average_config make_average_config(const config::run_spec& spec, const run_plan& plan);

}  // namespace rldp::actors
