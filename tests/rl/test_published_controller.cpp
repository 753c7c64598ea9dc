#include <chrono>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "rl/published_controller.hpp"
#include "tests/catch.hpp"
#include "tests/rl/learners.hpp"

using namespace rldp::rl;
using rldp::controller_mode;
using rldp::privacy::observation;
using dial = rldp::controller_action;

namespace {

constexpr std::size_t groups = 4;
const std::vector<double> medians = {0.1, 0.2, 0.3, 0.4};

controller_config four_groups(std::vector<dial> actions = {dial::radii, dial::noise}) {
    auto config = rldp::testing::small_controller(groups);
    config.actions = std::move(actions);
    return config;
}

observation random_observation(std::mt19937& engine, int decision) {
    std::normal_distribution<double> normal;
    observation seen;
    for (std::size_t i = 0; i < 3 * groups; ++i) seen.quartiles.push_back(std::exp(normal(engine)));
    seen.loss = 3 + 0.1 * normal(engine);
    seen.utility = -seen.loss;
    seen.epsilon = 0.2 * decision;
    seen.variance = std::exp(normal(engine));
    seen.kurtosis = normal(engine);
    return seen;
}

}  // namespace

TEST_CASE("the reward has its known values") {
    CHECK(reward(0, 0.1, 10) == 0);
    CHECK(reward(0.1, 0.1 - 1e-6, 10) == Approx(std::log(2.0)));
    CHECK(reward(0.3, 0.05, 10) == Approx(std::log1p(0.3 / 0.050001)));
    CHECK(reward(-5, 0.1, 10) == Approx(std::log(0.001)));  // -6.9: the ratio is floored before the logarithm
    CHECK(reward(-5, 0.1, 3) == -3);
    CHECK(reward(0.1, 0, 10) == Approx(std::log1p(1e5)));
    CHECK(std::isfinite(reward(0.1, -1e-6, 10)));
}

TEST_CASE("radii follow the formula and stay in their range") {
    const std::vector<double> action = {std::log(0.2), -20, 3};
    CHECK(radii_from(action, {}, 1e-3, 1) == std::vector<double>{0.2, 1e-3, 1});
    const auto delta = radii_from(std::vector<double>{0, 1, -1000, 1000}, medians, 0.01, 2);
    CHECK(delta[0] == 0.1);
    CHECK(delta[1] == Approx(0.2 * std::exp(1.0)));
    CHECK(delta[2] == 0.01);
    CHECK(delta[3] == 2);
}

TEST_CASE("the noise multiplier moves by the published smoothed step") {
    // log σ = log 1 = 0, tanh(∞) = 1, half the budget spent: 0.2·0.05
    CHECK(next_log_sigma(0, 1e9, 0.5, 1) == Approx(0.01));
    CHECK(next_log_sigma(0, 0.3, 0.25, 1) == Approx(0.2 * std::tanh(0.3) * 0.1 * 0.75));
    CHECK(next_log_sigma(0, 1e9, 1.5, 1) == 0);  // past the budget: no step, not a reversed one
    double up = 0, down = 0;
    for (int i = 0; i < 2000; ++i) {
        up = next_log_sigma(up, 50, 0, 1);
        down = next_log_sigma(down, -50, 0, 1);
    }
    CHECK(up == Approx(std::log(2.0)));
    CHECK(down == Approx(std::log(0.5)));
}

TEST_CASE("the learning rate stays within a factor of four") {
    CHECK(next_log_lr(0, 1e9) == Approx(0.02));
    double value = 0;
    for (int i = 0; i < 2000; ++i) value = next_log_lr(value, 50);
    CHECK(std::exp(value) == Approx(4));
}

TEST_CASE("shares are a softmax that never loses a group") {
    const auto shares = shares_from(std::vector<double>{0, std::log(2.0), std::log(5.0)});
    CHECK(shares[0] == Approx(0.125));
    CHECK(shares[1] == Approx(0.25));
    CHECK(shares[2] == Approx(0.625));
    const auto extreme = shares_from(std::vector<double>{-1e6, 1e6});
    CHECK(extreme[0] > 0);
    CHECK(extreme[0] + extreme[1] == Approx(1));
}

TEST_CASE("rl.actions selects what an action sets") {
    std::mt19937 engine(1);
    const auto seen = random_observation(engine, 1);
    const auto decided = [&](std::vector<dial> actions) {
        published_controller subject(four_groups(std::move(actions)));
        return subject.decide({seen, medians});
    };
    const auto published = decided({dial::radii, dial::noise});
    CHECK(published.radii.size() == groups);
    CHECK(published.shares.empty());
    CHECK(published.lr_factor == 1);
    CHECK(published.noise_multiplier != Approx(0.7).epsilon(1e-12));
    const auto noise = decided({dial::noise});
    CHECK(noise.radii.empty());
    const auto rest = decided({dial::lr, dial::shares});
    CHECK(rest.radii.empty());
    CHECK(rest.shares.size() == groups);
    CHECK(rest.lr_factor != 1);
    CHECK(rest.noise_multiplier == Approx(0.7));
    CHECK_THROWS_AS(decided({}), rldp::error);
}

TEST_CASE("early decisions are sane") {
    std::mt19937 engine(5);
    for (std::int64_t seed = 0; seed < 20; ++seed) {
        auto config = four_groups({dial::radii, dial::noise, dial::shares, dial::lr});
        config.learner.seed = seed;
        published_controller subject(config);
        for (int k = 1; k < 4; ++k) {
            const auto set = subject.decide({random_observation(engine, k), medians});
            for (std::size_t i = 0; i < groups; ++i) {
                CHECK(set.radii[i] > medians[i] / 8);
                CHECK(set.radii[i] < medians[i] * 8);
                CHECK(set.shares[i] > 0.02);
            }
            CHECK(set.noise_multiplier == Approx(0.7).epsilon(0.1));
        }
    }
}

TEST_CASE("a restored controller goes on bit for bit") {
    const auto config = four_groups({dial::radii, dial::noise, dial::shares, dial::lr});
    published_controller subject(config), restored(config);
    std::mt19937 engine(9);
    for (int k = 1; k <= 7; ++k) {
        subject.decide({random_observation(engine, k), medians});
        subject.learn();
    }
    restored.load(subject.save());
    CHECK(restored.decisions() == 7);
    for (int k = 8; k <= 12; ++k) {
        const auto seen = random_observation(engine, k);
        const auto expected = subject.decide({seen, medians}), found = restored.decide({seen, medians});
        CHECK(found.radii == expected.radii);
        CHECK(found.shares == expected.shares);
        CHECK(found.noise_multiplier == expected.noise_multiplier);
        CHECK(found.lr_factor == expected.lr_factor);
        subject.learn();
        restored.learn();
    }
    CHECK((restored.save() == subject.save()));
    CHECK_THROWS_AS(restored.load("x"), rldp::error);
}

TEST_CASE("learning changes what is decided") {
    const auto last = [](bool learning) {
        published_controller subject(four_groups());
        std::mt19937 engine(2);
        block_action set;
        for (int k = 1; k <= 8; ++k) {
            set = subject.decide({random_observation(engine, k), medians});
            if (learning) subject.learn();
        }
        return set;
    };
    CHECK(last(true).radii == last(true).radii);
    CHECK(last(true).radii != last(false).radii);
}

TEST_CASE("observations are normalised by their own past") {
    normaliser subject(2);
    std::mt19937 engine(4);
    std::normal_distribution<double> normal(100, 3);
    std::vector<double> values;
    double mean = 0, square = 0;
    const int n = 5000;
    for (int i = 0; i < n; ++i) {
        const double value = normal(engine);
        const auto result = subject.add({value, 7});
        CHECK(result[1] == 0);
        if (i == 0) CHECK(result[0] == 0);
        mean += result[0] / n;
        square += result[0] * result[0] / n;
        values.push_back(value);
    }
    CHECK(mean == Approx(0).margin(0.08));
    CHECK(square == Approx(1).margin(0.08));
    CHECK(subject.add({1e12, 7})[0] == 10);
    CHECK_THROWS_AS(subject.add({std::nan(""), 7}), rldp::error);
}

TEST_CASE("a decision takes less than a millisecond") {
    auto config = four_groups();
    config.groups = 64;
    published_controller subject(config);
    std::mt19937 engine(3);
    const std::vector<double> many(64, 0.1);
    double best = 1e9;
    for (int k = 1; k <= 20; ++k) {
        auto seen = random_observation(engine, k);
        seen.quartiles.assign(3 * 64, 0.1 * k);
        const auto start = std::chrono::steady_clock::now();
        subject.decide({seen, many});
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count());
    }
    CHECK(best < 1);
}

TEST_CASE("a random policy draws standard normals, a frozen one never learns") {
    auto config = four_groups();
    config.clip_min = 1e-9;
    config.clip_max = 1e9;
    config.learner.batch = 1;
    config.mode = controller_mode::random;
    published_controller random(config), again(config);
    config.mode = controller_mode::frozen;
    published_controller frozen(config), idle(config);
    config.mode = controller_mode::learned;
    published_controller learned(config);
    std::mt19937 engine(5);
    double sum = 0, squares = 0, frozen_from_idle = 0, learned_from_idle = 0;
    constexpr int decisions = 100;
    for (int k = 0; k < decisions; ++k) {
        const auto seen = random_observation(engine, k);
        const auto drawn = random.decide({seen, medians}).radii;
        CHECK(drawn == again.decide({seen, medians}).radii);
        const auto still = idle.decide({seen, medians}).radii, kept = frozen.decide({seen, medians}).radii,
                   moved = learned.decide({seen, medians}).radii;
        for (std::size_t i = 0; i < groups; ++i) {
            const double action = std::log(drawn[i] / medians[i]);
            sum += action;
            squares += action * action;
            frozen_from_idle += std::abs(kept[i] - still[i]);
            learned_from_idle += std::abs(moved[i] - still[i]);
        }
        frozen.learn();
        learned.learn();
        random.learn();
    }
    constexpr double n = decisions * groups;
    CHECK(std::abs(sum / n) < 4 / std::sqrt(n));
    CHECK(std::abs(squares / n - 1) < 4 * std::sqrt(2 / n));
    CHECK(frozen_from_idle == 0);
    CHECK(learned_from_idle > 0);
    // After a checkpoint the next draw is the one that would have come.
    config.mode = controller_mode::random;
    published_controller other(config);
    other.load(random.save());
    const auto seen = random_observation(engine, decisions);
    CHECK(other.decide({seen, medians}).radii == random.decide({seen, medians}).radii);
    config.mode = controller_mode::shuffled;
    CHECK_THROWS_AS(published_controller(config), rldp::error);
}
