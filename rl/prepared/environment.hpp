#pragma once
// Tasks, and two kinds of policy for them: a rule that answers to what a run shows, and a schedule that is deaf to it.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "run/train/rate_schedule.hpp"

namespace rldp::rl {

// Tasks. What a task shows to a policy and what a policy may set: episodes of T steps in blocks of K, a decision after
// each block but the last. An observation holds only what a deployed run can compute from releases and public data.

/// Of an adapter, over the last block.
struct of_adapter {
    enum feature : std::size_t {
        signal,  ///< asinh((‖Σg̃‖² − K·d·s²)/(K·d·s²)), s² the variance of the noise on a number of a release g̃
        cosine,  ///< between the sums of the last two blocks; 0 while there is one
        along,   ///< between −Σg̃ and the block before's move; likewise (run/train/adapter_features.hpp)
        update,  ///< log of the norm of the block's update over that of the weights, at least −9
        // from here on the policy's own actions
        rate,   ///< the last log factor of the adapter's rate
        share,  ///< the last log share of the noise
        count
    };
};
struct of_run {
    enum feature : std::size_t {
        time,    ///< t/T
        noise,   ///< log(z·√D/B)
        epochs,  ///< log(B·T/N)
        probe,   ///< log of the loss on public records; 0 where there are none
        slope,   ///< its change over the last block; likewise
        rate,    ///< the last log factor of all rates
        count
    };
};

struct policy_observation {
    std::vector<std::array<double, of_adapter::count>> adapters;  ///< [n]
    std::array<double, of_run::count> global;
};

// Either way. A common rate may go wherever a guess can have missed; an adapter's own stays near it.
inline const double rate_limit = std::log(20.0);     ///< of the log factor of all rates
inline const double own_rate_limit = std::log(3.0);  ///< of the log factor of an adapter's own
inline constexpr double share_limit = 2;             ///< of log shares

/// What a policy sets for the next block: post-processing of releases, and the division of a noise that is paid for.
struct policy_action {
    double rate = 0;             ///< log factor of the schedule's rate, within ±rate_limit
    std::vector<double> rates;   ///< [n] the same of an adapter's own, on top, within ±own_rate_limit
    std::vector<double> shares;  ///< [n] logs of w_i² before they are made to sum to 1, within ±share_limit
};
policy_action neutral(std::size_t adapters);
/// `wish` with every number brought into its range.
policy_action within_limits(policy_action wish);
/// Errors: a bug for an action of another number of adapters, or beyond its limits.
void check_action(const policy_action& chosen, std::size_t adapters);
/// w_i², sum 1.
std::vector<double> compute_shares(const policy_action& chosen);

/// What is fixed before a run: a warm-up over a twentieth of the steps, a straight line, the mean of the last iterates.
struct schedule {
    double log_rate = 0;  ///< log factor of the mean rate that the task was tuned to
    double tilt = 0;      ///< in [−1, 1]: −1 linear decay to 0, 0 constant, 1 a rise from 0; the mean rate stays
    double tail = 0.2;    ///< share of the steps whose mean iterate is kept, in (0, 1]
};

rate_schedule make_rate_schedule(const schedule& fixed, double mean_rate, std::int64_t steps);

/// A run of a task, its first block behind it.
class episode {
  public:
    virtual ~episode() = default;
    virtual bool finished() const = 0;
    virtual policy_observation look() const = 0;
    /// Takes the next block. Errors: a bug where the action has another number of adapters or leaves its limits.
    virtual void play(const policy_action& chosen) = 0;
    /// Log of the held-out loss above its least of what would be kept now; exact. No policy sees it. A block's reward
    /// is its fall.
    virtual double log_excess() const = 0;
};

/// A task begins as often as asked, and outlives its episodes. The same seed gives the same noise, whatever is set.
class task {
  public:
    virtual ~task() = default;
    virtual std::unique_ptr<episode> begin(const schedule& how, std::uint64_t seed) const = 0;
    virtual std::int64_t blocks() const = 0;  ///< of an episode
};

/// Tasks of any kind, which outlive it.
using task_list = std::span<const task* const>;
template <class Kind>
std::vector<const task*> list_tasks(const std::vector<Kind>& tasks) {
    std::vector<const task*> out;
    for (const auto& one : tasks) out.push_back(&one);
    return out;
}

using policy = std::function<policy_action(const policy_observation&)>;

// Rule. A feedback rule of eleven numbers: what a search finds where a net would need a thousand times the episodes.
// All zeros are the schedule itself.

/// What it says adds to the last log rates, common and own, of which `forget` leaves a part.
struct rule {
    enum number : std::size_t {
        bias,             ///< a constant of the common log rate; then what it gains per unit of
        time,             ///< t/T − ½
        signal,           ///< the adapters' mean signal
        cosine,           ///< their mean cosine
        along,            ///< their mean cosine along the last block's move
        slope,            ///< the probe's slope
        noise,            ///< log(z·√D/B)
        forget,           ///< exp(−forget²) of the last log rates stays
        own_signal,       ///< an adapter's own log rate per unit of its signal above the mean,
        own_along,        ///< and of its cosine along its last move
        share_of_signal,  ///< its log share per unit of its signal above the mean
        count
    };
    std::array<double, count> numbers = {};

    policy_action operator()(const policy_observation& seen) const;
};

/// A point of a search for the `free` numbers, in their order, as a rule whose others are zero. A step of one in each
/// acts alike: cosines along a noisy block are some hundredths, and are multiplied by ten.
rule rule_at(std::span<const double> point, std::span<const rule::number> free);
/// Its inverse.
std::vector<double> to_point(const rule& how, std::span<const rule::number> free);

/// A point of a search, three numbers, as a schedule: its log rate; its tilt by tanh, so that no straight line is out
/// of reach, and its tail, half at most, by a logistic function. Three zeros are the tuned rate, constant, and the mean
/// of a quarter of the iterates. Quadratics alone would have all iterates averaged: they begin near their optimum, and
/// a language model does not.
schedule schedule_at(std::span<const double> point);
/// Its inverse, but for what only infinite numbers would reach: a search can go on from there.
std::vector<double> to_point(const schedule& fixed);

// Open-loop schedule. What time alone can do: the common rate by the clock, deaf to all that a run shows. A rule that
// wins no more than an open-loop schedule of equal search has learnt from the tasks' mean, and nothing from the run.

/// As many numbers as a rule has.
struct open_loop_schedule {
    std::array<double, 11> log_rates = {};  ///< at t/T = 0, 0.1, …, 1; straight lines between them

    policy_action operator()(const policy_observation& seen) const;
};

/// Eleven numbers, as they are.
open_loop_schedule open_loop_schedule_at(std::span<const double> point);

}  // namespace rldp::rl
