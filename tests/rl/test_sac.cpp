#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "rl/sac.hpp"
#include "tests/catch.hpp"
#include "tests/rl/learners.hpp"

using namespace rldp::rl;

namespace {

sac_config small_learner() {
    auto config = rldp::testing::small_learner();
    config.state_size = 3;
    config.action_size = 2;
    config.hidden = 32;
    return config;
}

transition random_transition(std::mt19937& engine) {
    std::normal_distribution<double> normal;
    const auto draw = [&](std::size_t size) {
        std::vector<double> values(size);
        for (double& value : values) value = normal(engine);
        return values;
    };
    return {draw(3), draw(2), normal(engine), draw(3)};
}

void fill(sac& learner, int count, unsigned seed = 1) {
    std::mt19937 engine(seed);
    for (int i = 0; i < count; ++i) learner.remember(random_transition(engine));
}

const std::vector<double> origin = {0, 0, 0};

std::vector<double> mean_action(sac& learner, const std::vector<double>& state, int samples) {
    std::vector<double> mean(2);
    for (int i = 0; i < samples; ++i) {
        const auto action = learner.act(state);
        for (std::size_t k = 0; k < 2; ++k) mean[k] += action[k] / samples;
    }
    return mean;
}

}  // namespace

TEST_CASE("the policy finds the optimum of a one-step bandit") {
    auto config = small_learner();
    config.gamma = 0;
    config.alpha = 0.05;
    config.batch = 64;
    config.updates = 2000;
    config.actor_lr = config.critic_lr = 3e-3;
    config.replay = 2000;
    sac learner(config);
    // Random actions; the best one depends on the state's sign: (0.8, -0.5) or (-0.8, 0.5). Quadratic reward.
    std::mt19937 engine(7);
    std::uniform_real_distribution<double> action(-1.5, 1.5);
    for (int i = 0; i < 2000; ++i) {
        const double sign = i % 2 == 0 ? 1 : -1;
        const std::vector<double> state = {sign, 0, 0};
        const double a = action(engine), b = action(engine);
        const double reward = -std::pow(a - 0.8 * sign, 2) - std::pow(b + 0.5 * sign, 2);
        learner.remember({state, {a, b}, reward, state});
    }
    learner.learn();
    CHECK(learner.rounds() == 2000);
    for (const double sign : {1.0, -1.0}) {
        const auto mean = mean_action(learner, {sign, 0, 0}, 400);
        CHECK(mean[0] == Approx(0.8 * sign).margin(0.2));
        CHECK(mean[1] == Approx(-0.5 * sign).margin(0.2));
    }
}

TEST_CASE("the temperature sets how much the policy explores", "[full]") {
    // Reward -a² and entropy weight α: the best Gaussian has variance α/2.
    const auto spread = [](double alpha) {
        auto config = small_learner();
        config.gamma = 0;
        config.alpha = alpha;
        config.batch = 64;
        config.updates = 1500;
        config.actor_lr = config.critic_lr = 3e-3;
        sac learner(config);
        std::mt19937 engine(3);
        std::uniform_real_distribution<double> action(-2, 2);
        for (int i = 0; i < 1500; ++i) {
            const double a = action(engine), b = action(engine);
            learner.remember({origin, {a, b}, -a * a - b * b, origin});
        }
        learner.learn();
        double squares = 0;
        for (int i = 0; i < 500; ++i) squares += std::pow(learner.act(origin)[0], 2);
        return std::sqrt(squares / 500);
    };
    CHECK(spread(0.1) == Approx(std::sqrt(0.05)).margin(0.08));
    CHECK(spread(0.8) == Approx(std::sqrt(0.4)).margin(0.15));
}

TEST_CASE("nothing is learnt while the replay holds fewer than a batch") {
    sac learner(small_learner());
    fill(learner, 3);
    const auto before = learner.save();
    learner.learn();
    CHECK(learner.rounds() == 0);
    CHECK((learner.save() == before));
    fill(learner, 1);
    learner.learn();
    CHECK(learner.rounds() == 2);
}

TEST_CASE("the replay forgets the oldest transition first") {
    auto config = small_learner();
    config.replay = 4;
    const auto after = [&](int skipped) {
        sac learner(config);
        std::mt19937 engine(1);
        std::vector<transition> all;
        for (int i = 0; i < 6; ++i) all.push_back(random_transition(engine));
        for (int i = skipped; i < 6; ++i) learner.remember(all[static_cast<std::size_t>(i)]);
        CHECK(learner.remembered() == 4);
        return learner.save();
    };
    CHECK((after(0) == after(2)));
    CHECK((after(0) == after(1)));
}

TEST_CASE("the same seed gives the same bits, whatever torch's global generator does") {
    const auto run = [](std::int64_t seed) {
        auto config = small_learner();
        config.seed = seed;
        sac learner(config);
        fill(learner, 20);
        for (int i = 0; i < 5; ++i) {
            learner.act(origin);
            learner.learn();
        }
        return learner.save();
    };
    at::manual_seed(1);
    const auto first = run(42);
    const auto undisturbed = at::rand({4});
    at::manual_seed(1);
    CHECK(at::equal(at::rand({4}), undisturbed));
    CHECK((run(42) == first));
    CHECK((run(43) != first));
}

TEST_CASE("the number of threads changes no bit") {
    const auto run = [](int threads) {
        const int before = at::get_num_threads();
        at::set_num_threads(threads);
        auto config = small_learner();
        config.hidden = 128;
        config.batch = 32;
        config.updates = 4;
        sac learner(config);
        fill(learner, 64);
        learner.learn();
        at::set_num_threads(before);
        return learner.save();
    };
    CHECK((run(1) == run(2)));
}

TEST_CASE("after a round the targets have moved by tau towards the critics") {
    auto config = small_learner();
    config.updates = 1;
    config.tau = 0.25;
    config.critic_lr = 0.01;
    sac learner(config);
    fill(learner, 4);
    // targets hold the twin critics, which come last among the critics' parameters
    const auto numbers = [&](const nlohmann::json& stored) {
        const auto& bytes = stored.get_binary();
        return at::from_blob(const_cast<std::uint8_t*>(bytes.data()), std::int64_t(bytes.size() / 4), at::kFloat)
            .clone();
    };
    const auto tail = [](const at::Tensor& all, const at::Tensor& like) {
        return all.narrow(0, all.numel() - like.numel(), like.numel());
    };
    const auto before = nlohmann::json::from_cbor(learner.save());
    learner.learn();
    const auto after = nlohmann::json::from_cbor(learner.save());
    const auto old_targets = numbers(before["targets"]), targets = numbers(after["targets"]);
    const auto critics = tail(numbers(after["critics"]["parameters"]), targets);
    CHECK(at::equal(old_targets, tail(numbers(before["critics"]["parameters"]), targets)));
    CHECK_FALSE(at::allclose(critics, old_targets, 0, 1e-3));
    CHECK(at::allclose(targets, 0.75 * old_targets + 0.25 * critics, 0, 1e-6));
}

TEST_CASE("a restored learner goes on bit for bit") {
    sac learner(small_learner());
    fill(learner, 10);
    learner.act(origin);
    learner.learn();
    sac restored(small_learner());
    restored.load(learner.save());
    CHECK((restored.save() == learner.save()));
    for (int i = 0; i < 5; ++i) {
        CHECK(restored.act(origin) == learner.act(origin));
        fill(learner, 1, 100 + i);
        fill(restored, 1, 100 + i);
        learner.learn();
        restored.learn();
    }
    CHECK(restored.rounds() == learner.rounds());
    CHECK((restored.save() == learner.save()));
}

TEST_CASE("a checkpoint that is damaged or of other sizes is refused") {
    sac learner(small_learner());
    const auto bytes = learner.save();
    CHECK_THROWS_AS(learner.load(bytes.substr(0, bytes.size() / 2)), rldp::error);
    CHECK_THROWS_AS(learner.load("no checkpoint"), rldp::error);
    auto config = small_learner();
    config.action_size = 3;
    sac other(config);
    CHECK_THROWS_AS(other.load(bytes), rldp::error);
    CHECK((learner.save() == bytes));
}

TEST_CASE("numbers that are not finite and wrong sizes are refused") {
    sac learner(small_learner());
    const double nan = std::nan("");
    CHECK_THROWS_AS(learner.act(std::vector<double>{0, 0}), rldp::error);
    CHECK_THROWS_AS(learner.act(std::vector<double>{0, nan, 0}), rldp::error);
    CHECK_THROWS_AS(learner.remember({origin, {0, 0}, nan, origin}), rldp::error);
    CHECK_THROWS_AS(learner.remember({origin, {0}, 0, origin}), rldp::error);
    auto config = small_learner();
    config.gamma = 1.5;
    CHECK_THROWS_AS(sac(config), rldp::error);
}
