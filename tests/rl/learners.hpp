#pragma once
// Learners and controllers of tests: the published ones' numbers, small enough to learn within a test.
#include "rl/published_controller.hpp"

namespace rldp::testing {

inline rl::sac_config small_learner() {
    rl::sac_config config;
    config.batch = 4;
    config.updates = 2;
    config.replay = 10000;
    config.gamma = 0.99;
    config.alpha = 0.04;
    config.tau = 0.01;
    config.actor_lr = 2e-4;
    config.critic_lr = 1e-4;
    config.seed = 42;
    return config;
}

inline rl::controller_config small_controller(std::size_t groups) {
    rl::controller_config config;
    config.actions = {controller_action::radii, controller_action::noise};
    config.groups = groups;
    config.clip_min = 1e-3;
    config.clip_max = 1;
    config.initial_noise_multiplier = 0.7;
    config.epsilon_budget = 8;
    config.reward_floor = 10;
    config.learner = small_learner();
    return config;
}

}  // namespace rldp::testing
