#pragma once
// Who steers a run and along which learning rates: from a configuration and its plan. No CAF.
#include <cstdint>
#include <memory>

#include "actors/run/plan.hpp"
#include "config/config.hpp"
#include "rl/controller.hpp"
#include "rl/iterate_average.hpp"
#include "rl/prepare/prepared_policy.hpp"
#include "rl/rate_schedule.hpp"

namespace rldp::actors {

/// The policy that rl.controller names; null under rl.state published. Errors: bad_input for a file that is none, or is
/// not for runs such as this.
std::shared_ptr<const rl::prepared_policy> prepared_policy_of(const config::run_config& config);

/// Null for methods without a controller.
std::shared_ptr<rl::controller> controller_of(const config::run_config& config, const run_plan& plan);

/// A prepared policy brings both; else they are those of train.schedule and train.average.
rl::rate_schedule rates_of(const config::run_config& config, const run_plan& plan);
rl::average_config average_of(const config::run_config& config, const run_plan& plan);

}  // namespace rldp::actors
