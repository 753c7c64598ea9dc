#pragma once
// What learns to add to a base policy: any learner, and Soft Actor-Critic.
#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "rl/prepared/environment.hpp"
#include "rl/prepared/residual.hpp"

namespace rldp::rl {

// Learners. What learns to add to a base policy, whatever its algorithm.

struct set_transition {
    policy_observation seen;  ///< normalised, as `next`
    policy_action raw;        ///< what the actor said, before squashing
    double reward = 0;
    policy_observation next;
    bool last = false;  ///< nothing follows
};
using set_episode = std::vector<set_transition>;

class residual_learner {
  public:
    virtual ~residual_learner() = default;
    /// Episodes that actor() of now has played.
    virtual void learn_from(const std::vector<set_episode>& round) = 0;
    /// Flat parameters, a copy. Zero residuals until the first round.
    virtual at::Tensor actor() const = 0;
    virtual const set_networks& nets() const = 0;
};

// Soft Actor-Critic (Haarnoja et al. 2018) over sets of adapters. It learns what to add to a base policy, from many
// tasks with their own numbers of adapters. Fixed temperature, twin critics with targets, no discount, for the time is
// in the state. One thread, own generator: the same seed and calls give the same bits.

struct residual_sac_config {
    std::int64_t hidden = 48, batch = 64, replay = 40'000;
    std::int64_t most_adapters = 16;  ///< rows of the replay are padded to so many
    double alpha = 1e-3;              ///< temperature, in nats of log excess loss per nat of entropy
    std::int64_t updates = 100;       ///< of a round of episodes
    double tau = 0.01, actor_lr = 3e-4, critic_lr = 1e-3;
    std::uint64_t seed = 1;
};

class residual_sac final : public residual_learner {
  public:
    /// Begins with `actor`, of set_networks(config.hidden); undefined: with one that adds nothing yet.
    explicit residual_sac(const residual_sac_config& config, const at::Tensor& actor = {});
    ~residual_sac() override;

    void learn_from(const std::vector<set_episode>& round) override;  ///< remember(), then learn(updates)
    void remember(const set_transition& value);                       ///< over the oldest, when the replay is full
    /// So many rounds of {critics, actor, targets}; none while the replay holds fewer than a batch.
    void learn(std::int64_t rounds);
    std::int64_t remembered() const;
    const set_networks& nets() const override;
    at::Tensor actor() const override;
    at::Tensor critics() const;

    /// Everything that acts on what comes: nets, optimisers, generator, replay. With binary values: for CBOR.
    nlohmann::json save() const;
    /// Errors: bad_input for another configuration's; nlohmann's for what is no such save.
    void load(const nlohmann::json& saved);

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace rldp::rl
