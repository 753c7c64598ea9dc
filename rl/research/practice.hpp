#pragma once
// How policies are compared: on the same tasks with the same noise, by several threads.
#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rl/prepared/environment.hpp"

namespace rldp::rl {

// Threads. Independent work on several threads, with the same result for any number of them.

/// work(0), …, work(count − 1), each once, on `jobs` threads. The first exception by index is thrown when all have
/// ended.
void for_each_index(std::size_t count, int jobs, const std::function<void(std::size_t)>& work);

// Comparison. What plays, on the same tasks with the same noise, and what it wins.

/// What plays: a policy around a schedule; without one, the schedule alone.
struct scheduled_policy {
    schedule fixed;
    policy act = {};
};

/// Log of the excess loss at the end of one episode.
double final_loss(const task& of, const scheduled_policy& who, std::uint64_t seed);

/// The seeds of a comparison's episodes: `episodes` of each task, from `seed`.
struct comparison_seeds {
    std::uint64_t seed = 1;
    std::size_t episodes = 1;
    int jobs = 1;  ///< threads; they change no number
};

/// [tasks]: the mean final loss on each.
std::vector<double> final_losses(task_list tasks, const scheduled_policy& who, const comparison_seeds& how);

/// The same of a policy that is shown another run's releases: those that task i + n/2 gave under the policy, at the
/// same t/T. The clock, what is known before a run and the last action are its own; of a policy that looks at nothing
/// else, the losses are those of final_losses().
std::vector<double> shuffled_losses(task_list tasks, const scheduled_policy& who, const comparison_seeds& how);

/// Losses less others, pair by pair: negative is better.
struct paired {
    double mean = 0, standard_error = 0;
    double wins = 0;  ///< share of tasks with the lower loss
    /// The gain that 95 of 100 such comparisons would show at least: −mean less 1.96 standard errors, the lower end of
    /// the two-sided interval.
    double least_gain() const { return -mean - 1.96 * standard_error; }
};
paired compare(std::span<const double> losses, std::span<const double> others);
/// "mean", "standard_error", "wins", "least_gain": as a policy file tells it.
nlohmann::json to_json(const paired& one);

/// What there is to win: the schedule that hindsight finds for each task, among 39 around the common one with rates of
/// a sixteenth to sixteen times its own, judged by other episodes than those it was found by, against the common one.
paired headroom(task_list tasks, const schedule& common, const comparison_seeds& how);

}  // namespace rldp::rl
