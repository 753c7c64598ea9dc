#pragma once
// The public side of a run as plain code: the mean of its iterates, training, and its steps in their order.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "models/optimizers/optimizer.hpp"
#include "privacy/mechanism/release_trace.hpp"
#include "privacy/methods/method.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/train/rate_schedule.hpp"
#include "run/train/steering.hpp"

namespace rldp::rl {

// Average. The mean of the adapters that a training passes through: it is evaluated and saved in place of the last one.
// The noise of the last steps averages out of it.

struct average_config {
    /// none: the last iterate; ema: weights that fall by 1 − 1/(window·steps) a step, corrected for their beginning;
    /// tail: equal weights of the last window·steps iterates (Polyak and Ruppert).
    averaging how = averaging::none;
    double window = 0;  ///< share of the steps, in (0, 1]
    std::int64_t steps = 0;
};

class iterate_average {
  public:
    explicit iterate_average(const average_config& config);

    /// The adapter [D] after step `step`, from 1.
    void add(std::int64_t step, const at::Tensor& adapter);
    /// What stands for the training: the mean, or `last` where there is none yet.
    at::Tensor of(const at::Tensor& last) const;

    /// For a checkpoint; the tensor is undefined where there is no mean yet. float64: increments of a long mean are
    /// small.
    const at::Tensor& mean() const { return mean_; }
    double weight() const { return weight_; }
    void restore(const at::Tensor& mean, double weight);

  private:
    average_config config_;
    at::Tensor mean_;
    double weight_ = 0;  ///< sum of the weights behind the mean
};

// Training. Adapter, optimiser, learning-rate schedule, average, method and actions. Everything in here is
// post-processing of releases. step_machine drives it.

struct training_config {
    std::int64_t steps = 0;       ///< of the plan
    rate_schedule rate = {};      ///< the learning rate, which actions may multiply
    average_config average = {};  ///< what is made of the iterates
    optimizer_kind optimizer = optimizer_kind::adamw;
    models::adamw_config adamw = {};        ///< what it is, or has inside
    std::int64_t interval = 0, warmup = 0;  ///< T_RL, T_warm, steps: when a controller decides
    double initial_noise_multiplier = 0;    ///< σ_0
    double expected_batch = 0;              ///< B, by which methods divide sums
    bool traces = false;                    ///< an audit keeps the sum of releases
    bool watches = false;                   ///< a controller looks at gradients
    /// How releases are noised; for those two, and for an optimiser that asks for the noise.
    std::optional<privacy::sanitizer_config> noised = {};
};

class training {
  public:
    /// `adapter` is the flat vector [D]. A controller decides where the method is rl::steered.
    training(const training_config& config, std::unique_ptr<privacy::method> method, at::Tensor adapter);

    std::int64_t step() const { return step_; }  ///< steps behind us, lost ones included
    std::int64_t lost() const { return lost_; }
    bool finished() const { return step_ >= config_.steps; }
    /// Where gradients are taken.
    const at::Tensor& adapter() const { return optimizer_->parameters(); }
    /// The average of the iterates, where one is asked for; else the last.
    at::Tensor average() const { return average_.of(adapter()); }
    /// What is evaluated and saved: the average, unless keep_last() was called.
    at::Tensor result() const { return last_kept_ ? adapter() : average(); }
    void keep_last() { last_kept_ = true; }
    bool keeps_last() const { return last_kept_; }
    std::vector<double> radii() const { return method_->radii(); }
    /// That the next step is clipped in; null: the Euclidean.
    std::shared_ptr<const privacy::geometry> find_geometry() const {
        return method_->next_terms(chosen_.noise_multiplier).shape;
    }
    double requested_noise_multiplier() const { return chosen_.noise_multiplier; }
    /// Set last. Radii are the method's: see radii().
    const block_action& chosen() const { return chosen_; }
    /// Mean loss of the last step as released, if statistics were.
    std::optional<double> released_loss() const;

    /// What the sanitizer needs for the next step; fixed before its draw is opened.
    privacy::step_order order(const privacy::charge& charged) const;
    /// One optimiser step with a release of the next step.
    void apply(const privacy::release& value);
    /// The next step was charged, but its release is lost: no update, never computed again.
    void skip();

    /// Whether the controller decides now: after step t > T_warm with t mod T_RL = 0, while steps remain.
    bool decision_due() const;
    /// The interval's observation; starts a new interval. Only where decisions are due, as the next.
    block_observation observe(double epsilon_spent);
    void set(const block_action& chosen);

    /// The sum of releases that an audit keeps, float64 [D]; undefined where none does.
    at::Tensor trace() const { return trace_ ? trace_->sum() : at::Tensor(); }

    /// Everything that acts, for a checkpoint.
    struct state {
        models::optimizer_state optimizer;
        privacy::method_state method;
        at::Tensor trace;    ///< undefined where there is none
        at::Tensor average;  ///< likewise
        at::Tensor before;   ///< likewise: the adapter before the last step
        at::Tensor watched;  ///< likewise
        std::string rest;    ///< JSON
    };
    state snapshot() const;
    void restore(const state& from);

  private:
    void end_step();
    void apply_rates();

    training_config config_;
    std::int64_t step_ = 0, lost_ = 0;
    std::unique_ptr<models::optimizer> optimizer_;
    iterate_average average_;
    std::unique_ptr<privacy::method> method_;
    at::Tensor before_;  ///< the adapter before the last update, where the method probes along it
    steered* steered_;   ///< the method, where a controller steers it
    block_action chosen_;
    bool released_ = false;  ///< whether the last step brought statistics
    bool last_kept_ = false;
    std::optional<privacy::release_trace> trace_;
    std::optional<block_watch> watch_;
};

}  // namespace rldp::rl

namespace rldp::actors {

// Step machine. A run's steps in their order, whoever drives them: the trainer actor, a resume's replay, the plain loop
// of the benchmarks. It says what is due and takes what came of it; it asks nobody and waits for nothing.

/// When held-out units are looked at: at `looks`, where there are any; else exactly, besides before the first step and
/// after the last.
struct evaluation_times {
    std::int64_t every = 0;  ///< steps; a checkpoint is written then, too
    std::int64_t epoch = 0;  ///< steps
    std::vector<std::int64_t> looks = {};
    bool due(std::int64_t step) const {
        if (!looks.empty()) return std::find(looks.begin(), looks.end(), step) != looks.end();
        return step % every == 0 || step % epoch == 0;
    }
};

/// When progress ε is priced: behind every block and whenever held-out units are looked at.
struct price_times {
    std::int64_t interval = 0;  ///< steps of a block
    evaluation_times evaluations;
    std::int64_t last = 0;  ///< the run's last step
    bool due(std::int64_t step) const {
        return step % interval == 0 || step % evaluations.every == 0 || evaluations.due(step) || step == last;
    }
    /// The last such step up to and with `step`; 0 where there is none.
    std::int64_t last_through(std::int64_t step) const {
        while (step > 0 && !due(step)) --step;
        return step;
    }
};

/// Whether the last iterate is kept and not the average: a function of both, and of public records alone.
using iterate_choice = std::function<bool(const at::Tensor& last, const at::Tensor& average)>;

/// Log of the loss of public records under an adapter.
using public_probe = std::function<double(const at::Tensor& adapter)>;

class step_machine {
  public:
    step_machine(rl::training training, evaluation_times times, iterate_choice choice = {}, public_probe probe = {});

    enum class due { decision, evaluation, checkpoint, step, end };
    /// The same until it is done: a decision by decide(), an evaluation by evaluated(), a checkpoint by saved(), a step
    /// by apply(). At the end, too, a checkpoint is owed.
    due next() const;

    /// The interval's observation; begins a new interval. Only where a decision is due, as the next.
    rl::block_observation observe(double epsilon_spent);
    void decide(const rl::block_action& chosen);
    void evaluated() { evaluation_ = false; }  ///< or the snapshot is with whoever does it
    void saved() { checkpoint_ = owed_ = false; }
    /// The checkpoint that is due is written behind a later step.
    void put_off_checkpoint() { checkpoint_ = false, owed_ = true; }

    std::int64_t next_step() const { return training_.step() + 1; }
    double requested_noise_multiplier() const { return training_.requested_noise_multiplier(); }
    privacy::step_order order(const privacy::charge& charged) const { return training_.order(charged); }
    /// The release of a charged step; null: it is lost. Answers the step's metrics line, whose radii are those that it
    /// was clipped to.
    eval::metrics_line apply(const privacy::charge& charged, const privacy::release* released,
                             const eval::progress_price& progress);

    const rl::training& training() const { return training_; }
    /// "last" or "average", once public records have chosen; else empty.
    std::string kept() const;
    void restore(const rl::training::state& from);

  private:
    void look_at_schedule();

    rl::training training_;
    evaluation_times times_;
    iterate_choice choice_;  ///< asked behind the last step; empty: the average is kept
    public_probe probe_;     ///< asked of the last iterate behind each block; empty: no controller learns from it
    bool decision_ = false, evaluation_ = false, checkpoint_ = false;  ///< due
    bool owed_ = false;                                                ///< a checkpoint that was put off
};

}  // namespace rldp::actors
