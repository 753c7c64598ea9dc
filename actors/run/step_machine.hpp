#pragma once
// A run's steps in their order, whoever drives them: the trainer actor, a resume's replay, the plain loop of the
// benchmarks. It says what is due and takes what came of it; it asks nobody and waits for nothing.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "eval/metrics/metrics.hpp"
#include "rl/training.hpp"

namespace rldp::actors {

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
