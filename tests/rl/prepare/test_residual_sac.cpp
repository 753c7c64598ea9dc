#include "rl/prepare/residual_sac.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "config/base/error.hpp"
#include "rl/prepare/residual.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepare/made_up.hpp"

using namespace rldp::rl;

namespace {

residual_sac_config small_learner() {
    residual_sac_config out;
    out.hidden = 16;
    out.batch = 32;
    out.replay = 1500;
    out.most_adapters = 4;
    out.alpha = 1e-2;
    out.actor_lr = out.critic_lr = 3e-3;
    return out;
}

move random_move(std::size_t adapters, splitmix& random) {
    auto out = neutral(adapters);
    out.rate = random.uniform(-1.5, 1.5);
    for (double& rate : out.rates) rate = random.uniform(-1.5, 1.5);
    for (double& share : out.shares) share = random.uniform(-1.5, 1.5);
    return out;
}

// Best at a common rate of 0.5 and, for each adapter, a share of the sign of its signal.
set_transition bandit(std::uint64_t seed) {
    splitmix random(seed, 1);
    set_transition out;
    out.seen = out.next = random_sight(static_cast<std::size_t>(random.whole(1, 4)), seed);
    out.raw = random_move(out.seen.adapters.size(), random);
    out.reward = -std::pow(out.raw.rate - 0.5, 2);
    for (std::size_t i = 0; i < out.seen.adapters.size(); ++i) {
        auto& signal = out.seen.adapters[i][of_adapter::signal];
        signal = signal > 0 ? 1 : -1;
        out.reward -= std::pow(out.raw.shares[i] - signal, 2) / static_cast<double>(out.seen.adapters.size());
    }
    out.last = true;
    return out;
}

}  // namespace

TEST_CASE("the learner finds each adapter's best number in sets of any size") {
    residual_sac learner(small_learner());
    for (std::uint64_t i = 0; i < 1500; ++i) learner.remember(bandit(i));
    learner.learn(1200);
    double wrong = 0, common = 0;
    int adapters = 0;
    for (std::uint64_t i = 5000; i < 5040; ++i) {
        const auto seen = bandit(i).seen;
        const auto said = raw_policy_of(learner.nets(), learner.actor(), seen).mean;
        common += said.rate / 40;
        for (std::size_t k = 0; k < seen.adapters.size(); ++k, ++adapters)
            wrong += std::abs(said.shares[k] - seen.adapters[k][of_adapter::signal]);
    }
    CHECK(common == Approx(0.5).margin(0.25));
    CHECK(wrong / adapters < 0.4);  // 1 for who adds nothing
}

TEST_CASE("a reward that comes later is worth as much") {
    // Two steps: nothing, then 1. Without a discount both states are worth 1 (the temperature is 0).
    auto config = small_learner();
    config.alpha = 0;
    config.tau = 0.1;
    residual_sac learner(config);
    const auto first = random_sight(2, 1), second = random_sight(2, 2);
    splitmix random(3);
    for (int i = 0; i < 300; ++i) {
        learner.remember({first, random_move(2, random), 0, second, false});
        learner.remember({second, random_move(2, random), 1, second, true});
    }
    learner.learn(400);
    const auto sets = empty_sets(2, 2);
    put(sets, 0, first);
    put(sets, 1, second);
    const auto worth = learner.nets().values(learner.critics(), sets, empty_actions(2, 2))[0];
    CHECK(worth[0].item<double>() == Approx(1).margin(0.1));
    CHECK(worth[1].item<double>() == Approx(1).margin(0.1));
}

TEST_CASE("the same seed and calls give a learner the same bits") {
    const auto run = [](std::uint64_t seed) {
        auto config = small_learner();
        config.seed = seed;
        config.replay = 40;
        residual_sac learner(config);
        for (std::uint64_t i = 0; i < 60; ++i) learner.remember(bandit(i));
        CHECK(learner.remembered() == 40);
        at::rand({7});  // the global generator's use changes nothing
        learner.learn(3);
        return learner.actor();
    };
    const auto first = run(1);
    CHECK(at::equal(run(1), first));
    CHECK_FALSE(at::equal(run(2), first));
}

TEST_CASE("a learner waits for a batch and refuses what is none of its own") {
    residual_sac learner(small_learner());
    const auto before = learner.actor();
    learner.remember(bandit(1));
    learner.learn(5);
    CHECK(at::equal(learner.actor(), before));
    auto bad = bandit(2);
    bad.reward = std::nan("");
    CHECK_THROWS_AS(learner.remember(bad), rldp::error);
    bad = bandit(2);
    bad.seen = random_sight(9, 1);
    CHECK_THROWS_AS(learner.remember(bad), rldp::error);
    auto config = small_learner();
    config.replay = 1;
    CHECK_THROWS_AS(residual_sac(config), rldp::error);
}
