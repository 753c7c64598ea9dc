#include "rl/research/refinement.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "base/error.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/bandit.hpp"

using namespace rldp::rl;

namespace {

residual_ppo_config small_ppo() {
    residual_ppo_config out;
    out.hidden = 16;
    out.batch = 32;
    out.passes = 4;
    out.most_adapters = 4;
    out.actor_lr = 1e-3;
    out.critic_lr = 3e-3;
    return out;
}

set_episode played_bandit(const residual_learner& learner, const at::Tensor& actor, std::uint64_t seed) {
    splitmix random(seed, 2);
    const auto seen = bandit_sight(seed);
    return {bandit_step(seen, sampled(compute_raw_policy(learner.nets(), actor, seen), random))};
}

std::vector<set_episode> played_round(const residual_learner& learner, std::uint64_t number) {
    std::vector<set_episode> out;
    const auto actor = learner.actor();
    for (std::uint64_t i = 0; i < 128; ++i) out.push_back(played_bandit(learner, actor, 128 * number + i));
    return out;
}

}  // namespace

TEST_CASE("advantages lie between what follows and one step's surprise") {
    const std::vector<double> rewards = {1, 0, 2}, values = {0.5, 3, -1};
    const auto all = generalised_advantages(rewards, values, 1);  // returns 3, 2, 2 less the values
    CHECK(all[0] == Approx(2.5));
    CHECK(all[1] == Approx(-1));
    CHECK(all[2] == Approx(3));
    const auto one = generalised_advantages(rewards, values, 0);  // r + V' - V
    CHECK(one[0] == Approx(3.5));
    CHECK(one[1] == Approx(-4));
    CHECK(one[2] == Approx(3));
    const auto between = generalised_advantages(rewards, values, 0.5);
    CHECK(between[1] == Approx(-2.5));
    CHECK(between[0] == Approx(2.25));
    CHECK_THROWS_AS(generalised_advantages(rewards, std::vector<double>{1}, 1), rldp::error);
}

TEST_CASE("PPO finds each adapter's best number in sets of any size") {
    residual_ppo learner(small_ppo());
    for (std::uint64_t round = 0; round < 100; ++round) learner.learn_from(played_round(learner, round));
    const auto found = extract_answers(learner);
    CHECK(found.common == Approx(0.5).margin(0.25));
    CHECK(found.wrong < 0.4);
}

TEST_CASE("the same seed and rounds give PPO the same bits, and what is none of its own is refused") {
    const auto run = [](std::uint64_t seed) {
        auto config = small_ppo();
        config.seed = seed;
        residual_ppo learner(config);
        at::rand({7});  // the global generator's use changes nothing
        learner.learn_from(played_round(learner, 1));
        return learner.actor();
    };
    const auto first = run(1);
    CHECK(at::equal(run(1), first));
    CHECK_FALSE(at::equal(run(2), first));
    residual_ppo learner(small_ppo());
    CHECK_THROWS_AS(learner.learn_from({}), rldp::error);
    auto bad = played_bandit(learner, learner.actor(), 1);
    bad.front().reward = std::nan("");
    CHECK_THROWS_AS(learner.learn_from({bad}), rldp::error);
}
