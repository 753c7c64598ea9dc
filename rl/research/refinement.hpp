#pragma once
// A residual on a rule, learnt in episodes under both: by SAC, or by PPO for comparison.
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "rl/prepared/environment.hpp"
#include "rl/prepared/residual.hpp"
#include "rl/prepared/residual_sac.hpp"
#include "rl/research/practice.hpp"

namespace rldp::rl {

// Proximal Policy Optimization (Schulman et al. 2017), in place of Soft Actor-Critic. The same nets, the same episodes,
// each round learnt from a few times and forgotten. One thread, own generator: the same seed and calls give the same
// bits.

struct residual_ppo_config {
    std::int64_t hidden = 48, batch = 64;
    std::int64_t passes = 10;         ///< over a round, at most
    std::int64_t most_adapters = 16;  ///< episodes are padded to so many
    double clip = 0.2;                ///< the ratio of densities counts within 1 ± clip
    double most_divergence = 0.02;    ///< nats by which a round moves the policy; then the passes end
    double lambda = 0.95;             ///< of the advantages (Schulman et al. 2016)
    double alpha = 1e-3;              ///< temperature, as SAC's
    double actor_lr = 3e-4, critic_lr = 1e-3;
    std::uint64_t seed = 1;
};

/// Â_t = Σ_l λ^l·(r_{t+l} + V_{t+l+1} − V_{t+l}) of one episode, nothing behind its end; no discount, for the time is
/// in the state.
std::vector<double> generalised_advantages(std::span<const double> rewards, std::span<const double> values,
                                           double lambda);

class residual_ppo final : public residual_learner {
  public:
    explicit residual_ppo(const residual_ppo_config& config);
    ~residual_ppo() override;

    /// Errors: a bug for a round without a step, a reward that is not finite, more adapters than there is room for.
    void learn_from(const std::vector<set_episode>& round) override;
    at::Tensor actor() const override;
    const set_networks& nets() const override;

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

// Refinement. A residual on a rule, learnt by SAC, or by PPO for comparison: episodes under the rule and what is added
// to it, each beside one of the rule alone with the same noise, whose rewards are subtracted: what no action changes
// need not be learnt.

struct refinement_config {
    std::variant<residual_sac_config, residual_ppo_config> learner;
    std::size_t rounds = 60;       ///< of episodes, then updates
    std::size_t episodes = 24;     ///< of a round
    std::size_t judged_every = 5;  ///< rounds, on the validation tasks
    std::uint64_t seed = 1;
    int jobs = 1;
};

struct refinement {
    frozen_normaliser normaliser;
    residual_guard guard;
    std::int64_t hidden = 0;    ///< units of the actor's nets
    at::Tensor actor;           ///< of those that were judged, the one with the largest certain gain; none: no residual
    std::size_t rounds = 0;     ///< after which it was; 0: no residual
    std::vector<double> curve;  ///< mean loss less the rule's, each time it was judged
    paired judged;              ///< against the rule alone, on the validation tasks: chosen by it, so too good
};

/// `validation` holds other tasks than `tasks`, of the same families.
refinement refine(task_list tasks, task_list validation, const schedule& fixed, const rule& how,
                  const refinement_config& config);

}  // namespace rldp::rl
