#include "rl/prepared/residual_sac.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "base/error.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/bandit.hpp"

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

policy_action random_move(std::size_t adapters, splitmix& random) {
    auto out = neutral(adapters);
    out.rate = random.uniform(-1.5, 1.5);
    for (double& rate : out.rates) rate = random.uniform(-1.5, 1.5);
    return out;
}

set_transition bandit(std::uint64_t seed) {
    splitmix random(seed, 2);
    const auto seen = bandit_sight(seed);
    return bandit_step(seen, random_move(seen.adapters.size(), random));
}

}  // namespace

TEST_CASE("the learner finds each adapter's best number in sets of any size") {
    residual_sac learner(small_learner());
    for (std::uint64_t i = 0; i < 1500; ++i) learner.remember(bandit(i));
    learner.learn(1200);
    const auto found = extract_answers(learner);
    CHECK(found.common == Approx(0.5).margin(0.25));
    CHECK(found.wrong < 0.4);
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
