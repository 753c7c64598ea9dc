#pragma once
// Policies in private runs on made-up tables, what they are worth there, and a search for better ones.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "eval/research/preparation/preparation.hpp"
#include "eval/research/preparation/preparation_page.hpp"
#include "rl/prepared/prepared_policy.hpp"
#include "rl/prepared/splitmix.hpp"

namespace rldp::eval {

// Templates. How a made-up table is rendered when no one's words are to be learnt: some of its columns, invented words
// for what they are called and for values, a sentence of some form.

/// A narrative template (JSON) for the columns of data::synthetic_table().
std::string random_template(rl::splitmix& random);

// Real runs. What a policy is worth in real runs, each a process of this program on a made-up table.

/// One table, one contract, one plan, one rate, one noise.
struct run_task {
    std::filesystem::path base;
    std::vector<std::string> set;
    double offset = 1;         ///< its train.lr over the one that is chosen for its plan
    std::string name;          ///< family and number
    std::string row_template;  ///< its random narrative template (JSON), or nothing
};

/// Tasks `first`, first + 1, … of a seed, of each family in turn.
std::vector<run_task> draw_runs(const std::vector<run_family>& from, const run_preparation& terms, std::uint64_t seed,
                                std::size_t first, std::size_t count);

struct run_place {
    std::filesystem::path out;  ///< what is under way there is gone on with
    int jobs = 1;
};

/// A policy, or a control in its place; without one nobody steers, and the run is that of method static.
struct run_arm {
    std::optional<rl::prepared_policy> policy;
    controller_mode mode = controller_mode::learned;
};

/// [arms · tasks], task by task for each arm: log of the held-out nats per token that remain at the end, of a
/// run that diverged what it began with. All runs of a task have the same draws and noise. Errors: failed where a run
/// does, naming its log; interrupted, after all that runs has saved.
std::vector<double> compute_losses(std::span<const run_arm> arms, std::span<const run_task> tasks,
                                   const run_place& where);

/// What the arm of that number did on each of those tasks of a call of compute_losses() that ended well.
std::vector<rate_path> read_paths(std::size_t arm, std::span<const run_task> tasks, const std::filesystem::path& out);
/// What was known of those runs beforehand; likewise.
std::vector<rl::known_plan> read_plans(std::size_t arm, std::span<const run_task> tasks,
                                       const std::filesystem::path& out);

// Search. CMA-ES on real runs, generation by generation, resumable.

struct run_search {
    std::filesystem::path out;  ///< of this search
    int jobs = 1;
    std::uint64_t seed = 1;
    double deviation = 0.2;  ///< where the search begins
    /// Told after each generation: which, and the mean loss of its points.
    std::function<void(std::size_t generation, double mean)> on_generation;
};

struct searched {
    std::vector<double> centre;  ///< that the search ends at
    std::vector<double> means;   ///< [generations] the mean loss of its points
};

/// Each generation plays its points on other tasks, all of them on the same. What
/// an earlier call has done in `out` counts. Errors: as compute_losses(); bad_input for a state there that is damaged
/// or of another search.
searched search_on_runs(const std::vector<double>& start,
                        const std::function<run_arm(const std::vector<double>&)>& arm_at, const run_preparation& terms,
                        const run_search& how);

}  // namespace rldp::eval
