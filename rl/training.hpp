#pragma once
// The public side of a run as plain code: adapter, AdamW, learning-rate schedule, trackers and dials. Everything in here is
// post-processing of releases. The trainer actor is a shell around it; resume and the plain loop of the benchmarks call it too.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/adamw.hpp"
#include "privacy/sanitizer.hpp"
#include "privacy/statistics.hpp"
#include "rl/controller.hpp"

namespace rldp::rl {

struct training_config {
    std::int64_t steps = 0;         ///< of the plan
    double expected_batch = 0;      ///< B, the public divisor of every sum
    double lr = 0;
    std::int64_t lr_warmup = 0;     ///< steps of linear warm-up
    bool controlled = true;         ///< false: radii stay at their start, no decisions (method static)
    std::int64_t interval = 0, warmup = 0;  ///< T_RL, T_warm, steps
    double initial_radius = 0, clip_min = 0, clip_max = 0;
    double initial_noise_multiplier = 0;    ///< σ_0
    double initial_loss = 0;        ///< a public guess of the mean token loss, nats: where the loss centre starts
};

class training {
  public:
    /// `adapter` is the flat vector [D], `groups` the number of adapters n.
    training(const training_config& config, std::size_t groups, at::Tensor adapter);

    std::int64_t step() const { return step_; }  ///< steps behind us, lost ones included
    std::int64_t lost() const { return lost_; }
    bool finished() const { return step_ >= config_.steps; }
    const at::Tensor& adapter() const { return optimizer_.parameters(); }
    const std::vector<double>& radii() const { return dials_.radii; }
    double requested_noise_multiplier() const { return dials_.noise_multiplier; }
    /// Mean loss of the last step as released, if statistics were.
    std::optional<double> released_loss() const;

    /// What the sanitizer needs for the next step; fixed before its draw is opened.
    privacy::step_order order(std::uint64_t seq, double noise_multiplier) const;
    /// One optimiser step with a release of the next step.
    void apply(const privacy::release& value);
    /// The next step was charged, but its release is lost: no update, never computed again.
    void skip();

    /// Whether the controller decides now: after step t > T_warm with t mod T_RL = 0, while steps remain.
    bool decision_due() const;
    /// The interval's observation; starts a new interval.
    privacy::observation observe(double progress_epsilon);
    std::vector<double> medians() const { return tracker_.medians(); }
    void set(const dials& chosen);

    /// Everything that acts, for a checkpoint.
    struct state {
        models::adamw::state optimizer;
        std::string rest;  ///< JSON
    };
    state snapshot() const;
    void restore(const state& from);

  private:
    void advance();
    double clamp_radius(double radius) const;

    training_config config_;
    std::int64_t step_ = 0, lost_ = 0;
    models::adamw optimizer_;
    privacy::statistics_tracker tracker_;
    dials dials_;
    bool released_ = false;  ///< whether the last step brought statistics
};

}  // namespace rldp::rl
