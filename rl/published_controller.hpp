#pragma once
// The controller as published: from released statistics to actions by running normalisation and SAC, which learns while
// the run goes on.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "rl/sac.hpp"
#include "run/train/steering.hpp"

namespace rldp::rl {

// Actions. What each component of an action means: pure functions, in the order radii [n], noise [1], shares [n], lr
// [1].

/// Radii C_i: absolute, clamp(e^a, C_min, C_max); delta, clamp(base·e^a, …). `base_radii` is empty under absolute.
std::vector<double> radii_from(std::span<const double> action, const std::vector<double>& base_radii, double clip_min,
                               double clip_max);
/// One smoothed step of log σ: δ = tanh(a)·0.1·(1 − ε_t/ε_max), clamped to [log ½σ_0, log 2σ_0], then 0.8 old + 0.2
/// new.
double next_log_sigma(double log_sigma, double action, double spent_fraction, double initial_noise_multiplier);
/// Shares w_i² = softmax(a), sum 1.
std::vector<double> shares_from(std::span<const double> action);
/// The same for the log of the learning-rate factor, within [¼, 4]; the step does not shrink, for it costs no privacy.
double next_log_lr(double log_lr, double action);

// Normaliser. Running mean and variance (Welford 1962) of what the controller has seen.

class normaliser {
  public:
    explicit normaliser(std::size_t size) : mean_(size), m2_(size) {}

    /// Takes `values` into the statistics, then returns them with mean 0 and variance 1, each within ±10.
    std::vector<double> add(const std::vector<double>& values);

    struct state {
        std::vector<double> mean, m2;
        std::int64_t count = 0;
    };
    state snapshot() const { return {mean_, m2_, count_}; }
    void restore(const state& from);

  private:
    std::vector<double> mean_, m2_;  ///< m2: sum of squared deviations from the mean
    std::int64_t count_ = 0;
};

// Controller. Its reward, and the decisions of a run.

struct controller_config {
    std::vector<controller_action> actions;
    controller_mode mode = controller_mode::learned;  ///< not shuffled
    std::size_t groups = 0;                           ///< n
    double clip_min = 0, clip_max = 0;
    rldp::clip_action clip_action = rldp::clip_action::delta;
    double initial_noise_multiplier = 0;  ///< σ_0
    double epsilon_budget = 0;            ///< ε_max
    double reward_floor = 0;              ///< R_max
    sac_config learner;                   ///< sizes are filled in from groups and actions
};

/// max(−R_max, log(1 + max(Δu/(Δε + 1e-6), −0.999))).
double reward(double utility_change, double epsilon_change, double reward_floor);

class published_controller final : public controller {
  public:
    explicit published_controller(const controller_config& config);

    /// Stores the transition that ended here, then acts with the current policy.
    block_action decide(const block_observation& seen) override;
    /// The SAC updates that the last decision brought.
    void learn() override;
    std::int64_t decisions() const override { return decisions_; }

    std::string save() const override;
    void load(const std::string& bytes) override;

  private:
    struct step {
        std::vector<double> state, action;
        double utility, epsilon;
    };

    bool acts_on(controller_action one) const;
    std::vector<double> random_action() const;  ///< of this decision, from the seed
    block_action make_block_action(const std::vector<double>& action, const privacy::observation& seen,
                                   const std::vector<double>& base_radii);

    controller_config config_;
    sac learner_;
    normaliser normaliser_;
    std::int64_t decisions_ = 0;
    double log_sigma_, log_lr_ = 0;
    std::optional<step> open_;  ///< the last decision, whose next state and reward are yet to come
};

}  // namespace rldp::rl
