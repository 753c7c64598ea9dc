#include "rl/prepare/residual_ppo.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "config/base/error.hpp"
#include "rl/prepare/residual.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepare/made_up.hpp"

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

double tried(double mean, double log_sigma, splitmix& random) {
    return mean + std::exp(log_sigma) * random.normal();
}

// Best at a common rate of 0.5 and, for each adapter, a share of the sign of its signal; played by the learner's actor.
set_episode played_bandit(const residual_learner& learner, const at::Tensor& actor, std::uint64_t seed) {
    splitmix random(seed, 1);
    set_transition out;
    out.seen = random_sight(static_cast<std::size_t>(random.whole(1, 4)), seed);
    for (auto& one : out.seen.adapters) one[of_adapter::signal] = one[of_adapter::signal] > 0 ? 1 : -1;
    out.next = out.seen;
    const auto said = raw_policy_of(learner.nets(), actor, out.seen);
    out.raw = said.mean;
    out.raw.rate = tried(said.mean.rate, said.log_sigma.rate, random);
    out.reward = -std::pow(out.raw.rate - 0.5, 2);
    for (std::size_t i = 0; i < out.seen.adapters.size(); ++i) {
        out.raw.rates[i] = tried(said.mean.rates[i], said.log_sigma.rates[i], random);
        out.raw.shares[i] = tried(said.mean.shares[i], said.log_sigma.shares[i], random);
        out.reward -= std::pow(out.raw.shares[i] - out.seen.adapters[i][of_adapter::signal], 2) /
                      static_cast<double>(out.seen.adapters.size());
    }
    out.last = true;
    return {out};
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
    double wrong = 0, common = 0;
    int adapters = 0;
    for (std::uint64_t i = 100'000; i < 100'040; ++i) {
        const auto seen = played_bandit(learner, learner.actor(), i).front().seen;
        const auto said = raw_policy_of(learner.nets(), learner.actor(), seen).mean;
        common += said.rate / 40;
        for (std::size_t k = 0; k < seen.adapters.size(); ++k, ++adapters)
            wrong += std::abs(said.shares[k] - seen.adapters[k][of_adapter::signal]);
    }
    CHECK(common == Approx(0.5).margin(0.25));
    CHECK(wrong / adapters < 0.4);  // 1 for who adds nothing
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
