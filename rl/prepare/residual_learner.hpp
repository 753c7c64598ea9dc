#pragma once
// What learns to add to a base policy, whatever its algorithm.
#include <ATen/core/Tensor.h>

#include <vector>

#include "rl/prepare/environment.hpp"
#include "rl/prepare/set_networks.hpp"

namespace rldp::rl {

struct set_transition {
    policy_observation seen;  ///< normalised, as `next`
    policy_action raw;    ///< what the actor said, before squashing
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

}  // namespace rldp::rl
