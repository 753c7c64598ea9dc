#pragma once
// How `rldp prepare-controller` prepares a policy: what it is told, and the way from made-up tasks to a policy file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eval/experiments/grid.hpp"
#include "eval/research/preparation/preparation_page.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "rl/research/practice.hpp"
#include "rl/research/preparation.hpp"

namespace rldp::eval {

// Preparation file. What `rldp prepare-controller` is told.

/// Short private fine-tunings of a public model on made-up tables, each of a world of its own.
struct run_family {
    std::string name;
    std::filesystem::path base;    ///< a configuration
    std::vector<std::string> set;  ///< overrides of all its tasks
    std::vector<axis> drawn;       ///< keys of which each task takes a value
    std::int64_t records = 0;      ///< of a task's table
    bool random_template = false;  ///< each task renders its table by one of its own (real_runs.hpp)
};

/// Private runs: what is searched there, and what the gate asks there.
struct run_preparation {
    std::vector<run_family> prepared, held_out;
    double offset = 1;  ///< by which a task's rate is off at most, either way, from the one that is chosen for its plan
    std::size_t generations = 0, population = 0;
    std::size_t tasks = 0;             ///< of a generation
    std::size_t validation_tasks = 0;  ///< fresh ones of the same families
    std::size_t gate_tasks = 0;        ///< of held-out families
    std::uint64_t gate_seed = 1;       ///< that those are drawn from
};

struct preparation_file {
    std::uint64_t seed = 1;
    rl::preparation_config quadratics;
    run_preparation runs;
};

/// A JSON object: "about", "seed", "quadratics" {"offset", "held_out", "tasks", "gate_tasks", "generations", "rounds"}
/// and, if it likes, "learner" (sac, or ppo for comparison), and "runs" {"offset", "generations", "population",
/// "tasks", "gate_tasks", "families": {name: {"base", "records", "template" ("random", if at all), "set": {key: value},
/// "draw": {key: [values]}}}, "held_out": [names]} and, if it likes, "validation_tasks" (else as many as the gate's)
/// and "gate_seed" (else "seed"): another one asks the gate anew, on tasks that no earlier one has seen. Paths are
/// relative to the file.
/// Errors: bad_input naming file and key, also for a family that reads anything but made-up tables: a preparation is
/// for no one's records.
preparation_file read_preparation(const std::filesystem::path& file);

// Preparation. From made-up tasks to a policy file: quadratics, then private runs, then the gate on held-out families
// of those.

struct preparation_place {
    std::filesystem::path work;  ///< what is done there already counts
    int jobs = 1;
    std::function<void(const std::string&)> said;  ///< hears of each stage and generation
    std::function<void()> rest = [] {};            ///< called where work may stop; may throw
};

/// All on tasks of held-out families, against the schedule that knows the plan, of as many runs, in log of the nats per
/// token that remain: negative is better.
struct run_gate {
    rl::paired hindsight;  ///< that schedule at the best of five rates, for each of the first 16 tasks: what a rate can
                           ///< win at most
    rl::paired deaf;       ///< the mean timetable of the policy, deaf to the run
    rl::paired policy;     ///< what is deployed if the gate is passed
    rl::paired feedback;   ///< that against the mean timetable
    rl::paired default_rate;  ///< the policy on tasks whose rate is the one that is chosen, as everybody has it
    /// The same by held-out family, against runs that nobody steers: one must not pay for the other.
    std::map<std::string, rl::paired> nobody;
    /// By how much it may end higher there, in log loss: 2 % of the nats that remain.
    static constexpr double most_lost = 0.02;
    bool passed() const {
        return policy.least_gain() > 0 && feedback.least_gain() > 0 && default_rate.least_gain() > -most_lost &&
               std::all_of(nobody.begin(), nobody.end(),
                           [](const auto& one) { return one.second.least_gain() > -most_lost; });
    }
};

struct prepared_controller_file {
    rl::prepared_policy policy;
    run_gate gate;
    std::vector<rate_path> paths;  ///< what the policy did on six tasks of held-out families
};

/// Errors: as search_on_runs().
prepared_controller_file prepare_controller(const preparation_file& what, const preparation_place& where);

}  // namespace rldp::eval
