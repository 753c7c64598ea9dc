#pragma once
// What time alone can do: the common rate by the clock, deaf to all that a run shows. A rule that wins no more than a
// timetable of equal search has learnt from the tasks' mean, and nothing from the run.
#include <array>
#include <span>

#include "rl/prepare/environment.hpp"

namespace rldp::rl {

/// As many numbers as a rule has.
struct open_loop_schedule {
    std::array<double, 11> log_rates = {};  ///< at t/T = 0, 0.1, …, 1; straight lines between them

    policy_action operator()(const policy_observation& seen) const;
};

/// Eleven numbers, as they are.
open_loop_schedule open_loop_schedule_at(std::span<const double> point);

}  // namespace rldp::rl
