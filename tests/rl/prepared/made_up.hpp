#pragma once
// Tasks and sights for the tests of this room.
#include <cmath>

#include "rl/prepared/splitmix.hpp"
#include "rl/research/families.hpp"

/// Two adapters of three and two numbers, 32 steps in blocks of eight.
inline rldp::rl::quadratics small_task() {
    rldp::rl::quadratics out;
    out.sizes = {3, 2};
    out.radii = {2, 0.5};
    out.weight_norms = {1, 0};
    out.curvatures = {1, 0.5, 0.1, 0.3, 0.2};
    out.start = {1, -2, 3, 0.5, -1};
    out.unit_noise = 1;
    out.noise_multiplier = 0.8;
    out.batch = 16;
    out.epochs = 2;
    out.steps = 32;
    out.interval = 8;
    out.rate = 0.05;
    return out;
}

/// Numbers such as a run shows, after a block that had a score.
inline rldp::rl::policy_observation random_sight(std::size_t adapters, std::uint64_t seed) {
    rldp::rl::splitmix random(seed);
    rldp::rl::policy_observation out;
    out.adapters.resize(adapters);
    for (auto& one : out.adapters)
        for (double& value : one) value = random.normal();
    for (double& value : out.global) value = random.normal();
    out.scored = true;
    return out;
}

/// To the end under one and the same move.
inline double played(const rldp::rl::task& of, const rldp::rl::rate_line& line, std::uint64_t seed,
                     const rldp::rl::policy_action& always) {
    const auto run = of.begin(line, seed);
    while (!run->finished()) run->play(always);
    return run->log_excess();
}
