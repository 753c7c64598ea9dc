#pragma once
// Family C: what a policy is worth in real runs, each a process of this program on a made-up table.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "eval/preparation/preparation_file.hpp"
#include "eval/preparation/preparation_page.hpp"
#include "rl/prepare/prepared_policy.hpp"

namespace rldp::eval {

/// One table, one contract, one plan, one rate, one noise.
struct run_task {
    std::filesystem::path base;
    std::vector<std::string> set;
    double rate = 0;                 ///< its train.lr
    std::string name;                ///< family and number
    std::string row_template;  ///< its random narrative template (JSON), or nothing
};

/// Tasks `first`, first + 1, … of a seed, of each family in turn.
std::vector<run_task> draw_runs(const std::vector<run_family>& from, const run_preparation& terms, std::uint64_t seed,
                                std::size_t first, std::size_t count);

struct run_place {
    std::filesystem::path out;  ///< what is under way there is gone on with
    int jobs = 1;
};

/// [policies · tasks], task by task for each policy: log of the held-out nats per token that remain at the end, of a
/// run that diverged what it began with. All runs of a task have the same draws and noise. Errors: failed where a run
/// does, naming its log; interrupted, after all that runs has saved.
std::vector<double> compute_losses(std::span<const rl::prepared_policy> policies, std::span<const run_task> tasks,
                              const run_place& where);

/// What the policy of that number did on the first `count` tasks of a call of compute_losses() that ended well.
std::vector<rate_path> read_paths(std::size_t policy, std::span<const run_task> tasks, const run_preparation& terms,
                                std::size_t count, const std::filesystem::path& out);

}  // namespace rldp::eval
