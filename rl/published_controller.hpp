#pragma once
// The controller as published: from released statistics to dials by running normalisation and SAC, which learns while
// the run goes on.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/base/kinds.hpp"
#include "rl/controller.hpp"
#include "rl/normaliser.hpp"
#include "rl/sac.hpp"

namespace rldp::rl {

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
