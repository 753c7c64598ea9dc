#pragma once
// A residual on a rule, learnt by SAC, or by PPO for comparison: episodes under the rule and what is added to it, each
// beside one of the rule alone with the same noise, whose rewards are subtracted: what no action changes need not be
// learnt.
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "rl/prepare/practice.hpp"
#include "rl/prepare/residual.hpp"
#include "rl/prepare/residual_ppo.hpp"
#include "rl/prepare/residual_sac.hpp"
#include "rl/prepare/rule.hpp"

namespace rldp::rl {

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
