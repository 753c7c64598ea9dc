#pragma once
// Tasks, and what plays them: a schedule that knows the plan and is deaf to the run, a rule that answers to what a run
// shows, and a timetable, the control of both.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
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
        rate,    ///< the policy's own: the last log factor of the adapter's rate
        count
    };
};
struct of_run {
    enum feature : std::size_t {
        time,    ///< t/T
        noise,   ///< log(z·√D/B)
        epochs,  ///< log(B·T/N)
        score,   ///< of the common rate (slope_score); 0 where the block had none
        scores,  ///< the log of one and how many blocks had one
        rate,    ///< the last log factor of all rates
        count
    };
};

struct policy_observation {
    std::vector<std::array<double, of_adapter::count>> adapters;  ///< [n]
    std::array<double, of_run::count> global;
    bool scored = false;  ///< whether the block had a score
};
/// What `scores` is after so many.
inline double count_feature(std::int64_t scores) {
    return std::log1p(static_cast<double>(scores));
}

// Either way. A common rate may go wherever a guess can have missed, sixteenfold, from a beginning that lies as far
// below; an adapter's own stays near it.
inline const double rate_limit = std::log(256.0);    ///< of the log factor of all rates
inline const double own_rate_limit = std::log(3.0);  ///< of the log factor of an adapter's own

/// What a policy sets for the next block: post-processing of releases.
struct policy_action {
    double rate = 0;            ///< log factor of the schedule's rate, within ±rate_limit
    std::vector<double> rates;  ///< [n] the same of an adapter's own, on top, within ±own_rate_limit
};
policy_action neutral(std::size_t adapters);
/// `wish` with every number brought into its range.
policy_action within_limits(policy_action wish);
/// Errors: a bug for an action of another number of adapters, or beyond its limits.
void check_action(const policy_action& chosen, std::size_t adapters);

/// What is known of a run before its first step, and a schedule may depend on.
struct known_plan {
    std::int64_t steps = 0;    ///< T
    double noise = 0;          ///< log(z·√D/B)
    std::size_t adapters = 0;  ///< n
    std::int64_t bands = 1;    ///< b
};
/// log(z·√D/B), of which a multiplier of nearly zero is the least.
double compute_noise_level(double noise_multiplier, double numbers, double batch);

/// Settled for a plan: a warm-up over a twentieth of the steps, a straight line, the mean of the last iterates.
struct rate_line {
    double log_rate = 0;  ///< log factor of the mean rate that the task was tuned to
    double tilt = 0;      ///< in [−1, 1]: −1 linear decay to 0, 0 constant, 1 a rise from 0; the mean rate stays
    double tail = 0.2;    ///< share of the steps whose mean iterate is kept, in (0, 1]
};
rate_schedule make_rate_schedule(const rate_line& line, double mean_rate, std::int64_t steps);

/// The conditioned schedule: a line for each plan. What it gains per unit is what is known of a run beforehand; what a
/// rule wins beyond it is what looking at the run is worth.
struct schedule {
    enum number : std::size_t {
        log_rate,      ///< of a plan of 100 steps, noise level e^−1, six adapters, one band
        per_noise,     ///< per unit of log(z·√D/B)
        per_steps,     ///< of log T
        per_adapters,  ///< of log n
        per_bands,     ///< of log b
        tilt,          ///< as a line's
        tail,          ///< likewise
        count
    };
    std::array<double, count> numbers = {0, 0, 0, 0, 0, 0, 0.2};

    rate_line settle(const known_plan& plan) const;
};

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
    virtual std::unique_ptr<episode> begin(const rate_line& how, std::uint64_t seed) const = 0;
    virtual known_plan plan() const = 0;
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

// Rule. Four numbers, which a search finds where a net would need a thousand times the episodes. The log of the common
// rate is its memory: a sum of what all blocks said. It is the filter of an offset that is not known: the gain of a
// posterior whose variance falls with every score that it has heard.

/// Adds gain/(1 + settle²·k)·(tanh(score/softness) − aim) to the last log rate, k the scores before. Without a score
/// the rate stays. A gain of zero is the schedule itself.
struct rule {
    enum number : std::size_t {
        gain,      ///< of the log rate, at the first score
        settle,    ///< how soon later ones count less
        aim,       ///< what the squashed score is where the rate is right
        softness,  ///< deviations at which a score stops counting in full
        count
    };
    std::array<double, count> numbers = {0, 0, 0, 1};

    policy_action operator()(const policy_observation& seen) const;
};

// Points of a search. A step of one in each number acts alike, and no point is out of range.

/// Gain and softness by their logs, a fifth of the aim; brought into their ranges.
rule rule_at(std::span<const double> point);
std::vector<double> to_point(const rule& how);  ///< its inverse
/// The log rate and what it gains as they are; the tilt by tanh, so that no straight line is out of reach; the tail,
/// half at most, by a logistic function: quadratics alone would have all iterates averaged, for they begin near their
/// optimum, and a language model does not. All are brought into their ranges. Zeros are the tuned rate, constant, and
/// the mean of a quarter.
schedule schedule_at(std::span<const double> point);
std::vector<double> to_point(const schedule& fixed);  ///< its inverse, but for what only infinite numbers would reach

// Timetable. What time alone can do: the common rate by the clock, deaf to all that a run shows. A rule that wins no
// more than a timetable of equal search, or than its own mean one, has learnt from the tasks' mean, and nothing from
// the run.

struct timetable {
    std::array<double, 11> log_rates = {};  ///< at t/T = 0, 0.1, …, 1; straight lines between them

    double at(double time) const;
    policy_action operator()(const policy_observation& seen) const;
};
timetable timetable_at(std::span<const double> point);
/// Of log factors that were set, from t/T on each; in order, the first at 0.
timetable to_timetable(std::span<const std::pair<double, double>> set);
timetable mean_of(std::span<const timetable> all);  ///< of one at least

}  // namespace rldp::rl
