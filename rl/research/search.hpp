#pragma once
// Schedules, rules and timetables found by CMA-ES on made-up tasks. A generation plays its points on the same tasks
// with the same noise; the next one plays other tasks.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rl/prepared/environment.hpp"
#include "rl/research/practice.hpp"

namespace rldp::rl {

struct search_config {
    std::size_t generations = 120, population = 12;
    std::size_t tasks = 48;  ///< of a generation; episodes are the product of the three
    double deviation = 0.3;  ///< where the search begins
    std::uint64_t seed = 1;
    int jobs = 1;
};

/// The centre that the search ends at: of noisy values, better than the best point told.
std::vector<double> search(task_list tasks, const std::vector<double>& start,
                           const std::function<scheduled_policy(std::span<const double>)>& scheduled_policy_at,
                           const search_config& how);

/// The seven numbers of schedule_at().
std::vector<double> search_schedule(task_list tasks, const std::vector<double>& start, const search_config& how);

struct ruled_schedule {
    schedule fixed;
    rule how;
};
/// Rule and schedule together, from `start`, a schedule's numbers, and the rule `begin`: what averages best under a
/// fixed rate is not what does under a rate that follows the run.
ruled_schedule search_rule(task_list tasks, const std::vector<double>& start, const rule& begin,
                           const search_config& how);

/// The same with a timetable in place of the rule.
scheduled_policy search_timetable(task_list tasks, const std::vector<double>& start, const search_config& how);

}  // namespace rldp::rl
