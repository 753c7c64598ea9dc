#pragma once
// A policy that acts, though nothing prepared it.
#include <ATen/ATen.h>

#include <vector>

#include "rl/prepared/prepared_policy.hpp"
#include "tests/rl/prepared/made_up.hpp"

inline std::vector<rldp::rl::policy_observation> random_sights(std::size_t count) {
    std::vector<rldp::rl::policy_observation> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(random_sight(1 + i % 5, i));
    return out;
}

/// Of runs that decide after every eighth step.
inline rldp::rl::prepared_parts made_up_parts() {
    using namespace rldp::rl;
    prepared_parts out;
    out.fixed.numbers = {0.1, -0.05, 0.02, 0.03, 0.04, 0.2, 0.3};
    out.best_fixed.numbers = {0.4, -0.03, -0.02, 0.01, 0.05, 0.5, 0.6};
    out.passed = true;
    out.interval = 8;
    out.how.numbers = {0.05, 0.3, 0.1, 1.5};
    out.usual.log_rates = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.4, 0.3, 0.2, 0.1, 0};
    const auto seen = random_sights(400);
    out.normaliser = frozen_normaliser::of(seen);
    auto normalised = seen;
    for (auto& one : normalised) one = out.normaliser(one);
    out.guard = residual_guard::of(normalised);
    out.hidden = 16;
    const auto generator = at::detail::createCPUGenerator(1);
    out.actor = at::randn({set_networks(16).actor_size()}, generator) * 0.3;
    out.figures = R"({"families":["few-flat-cold"]})";
    return out;
}
