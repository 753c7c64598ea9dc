#pragma once
// Proximal Policy Optimization (Schulman et al. 2017) in place of Soft Actor-Critic: the same nets, the same episodes,
// each round learnt from a few times and forgotten. One thread, own generator: the same seed and calls give the same
// bits.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rl/prepare/residual_learner.hpp"

namespace rldp::rl {

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

}  // namespace rldp::rl
