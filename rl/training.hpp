#pragma once
// The public side of a run as plain code: adapter, AdamW, learning-rate schedule, average, method and dials. Everything
// in here is post-processing of releases. actors/run/step_machine drives it.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/adamw.hpp"
#include "privacy/mechanism/release_trace.hpp"
#include "privacy/methods/method.hpp"
#include "rl/block_watch.hpp"
#include "rl/controller.hpp"
#include "rl/iterate_average.hpp"
#include "rl/rate_schedule.hpp"
#include "rl/steered.hpp"

namespace rldp::rl {

struct training_config {
    std::int64_t steps = 0;       ///< of the plan
    rate_schedule rate = {};      ///< the learning rate, which dials may multiply
    average_config average = {};  ///< what is made of the iterates
    models::adamw_config optimizer = {};
    std::int64_t interval = 0, warmup = 0;                  ///< T_RL, T_warm, steps: when a controller decides
    double initial_noise_multiplier = 0;                    ///< σ_0
    std::optional<privacy::sanitizer_config> traced = {};   ///< how releases are noised, where an audit keeps their sum
    std::optional<privacy::sanitizer_config> watched = {};  ///< the same, where a controller looks at gradients
};

class training {
  public:
    /// `adapter` is the flat vector [D]. A controller decides where the method is rl::steered.
    training(const training_config& config, std::unique_ptr<privacy::method> method, at::Tensor adapter);

    std::int64_t step() const { return step_; }  ///< steps behind us, lost ones included
    std::int64_t lost() const { return lost_; }
    bool finished() const { return step_ >= config_.steps; }
    /// Where gradients are taken.
    const at::Tensor& adapter() const { return optimizer_.parameters(); }
    /// The average of the iterates, where one is asked for; else the last.
    at::Tensor average() const { return average_.of(adapter()); }
    /// What is evaluated and saved: the average, unless keep_last() was called.
    at::Tensor result() const { return last_kept_ ? adapter() : average(); }
    void keep_last() { last_kept_ = true; }
    bool keeps_last() const { return last_kept_; }
    std::vector<double> radii() const { return method_->radii(); }
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
        models::adamw::state optimizer;
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
    models::adamw optimizer_;
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
