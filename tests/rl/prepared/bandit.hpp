#pragma once
// A task of one step that both learners must solve: best at a common rate of 0.5 and, for each adapter, an own rate of
// the sign of its signal.
#include <cmath>

#include "rl/prepared/residual.hpp"
#include "rl/prepared/residual_sac.hpp"
#include "tests/rl/prepared/made_up.hpp"

/// One to four adapters, their signals 1 or −1.
inline rldp::rl::policy_observation bandit_sight(std::uint64_t seed) {
    using rldp::rl::of_adapter;
    auto out = random_sight(static_cast<std::size_t>(rldp::rl::splitmix(seed, 1).integer(1, 4)), seed);
    for (auto& one : out.adapters) one[of_adapter::signal] = one[of_adapter::signal] > 0 ? 1 : -1;
    return out;
}

/// The step that took `raw`, and its reward.
inline rldp::rl::set_transition bandit_step(const rldp::rl::policy_observation& seen,
                                            const rldp::rl::policy_action& raw) {
    double reward = -std::pow(raw.rate - 0.5, 2);
    for (std::size_t i = 0; i < seen.adapters.size(); ++i)
        reward -= std::pow(raw.rates[i] - seen.adapters[i][rldp::rl::of_adapter::signal], 2) /
                  static_cast<double>(seen.adapters.size());
    return {seen, raw, reward, seen, true};
}

struct bandit_answers {
    double common = 0;  ///< mean rate; 0.5 is right
    double wrong = 0;   ///< mean error of an own rate; 1 for who adds nothing
};
/// On sights that no test has learnt from.
inline bandit_answers extract_answers(const rldp::rl::residual_learner& learner) {
    bandit_answers out;
    double adapters = 0;
    for (std::uint64_t i = 100'000; i < 100'040; ++i) {
        const auto seen = bandit_sight(i);
        const auto said = rldp::rl::compute_raw_policy(learner.nets(), learner.actor(), seen).mean;
        out.common += said.rate / 40;
        for (std::size_t k = 0; k < seen.adapters.size(); ++k, ++adapters)
            out.wrong += std::abs(said.rates[k] - seen.adapters[k][rldp::rl::of_adapter::signal]);
    }
    out.wrong /= adapters;
    return out;
}
