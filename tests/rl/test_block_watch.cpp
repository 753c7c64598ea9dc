#include "run/train/steering.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "run/train/training.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"

using namespace rldp;

namespace {

/// Two adapters of two and three numbers, and the deviations of their noise.
const std::vector<privacy::segment> two_groups = {{2, 0}, {3, 1}};
const double second_deviation = 2 / std::sqrt(0.75);
const std::vector<double> noise_of_both = {1, second_deviation};

at::Tensor row(const std::vector<float>& values) {
    return at::tensor(values);
}

bool same(const std::vector<rl::adapter_features>& a, const std::vector<rl::adapter_features>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.signal == y.signal && x.cosine == y.cosine && x.along == y.along && x.update == y.update;
    });
}

}  // namespace

TEST_CASE("a block's signs have their known values, in units of the noise") {
    rl::block_watch watch(two_groups, row({0, 0, 1, 1, 1}));
    watch.add(row({3, 0, 1, 0, 0}), noise_of_both);
    watch.add(row({0, 4, 1, 0, 0}), noise_of_both);
    watch.close(row({0, 0.5, 1, 1, 2}));
    const auto first = watch.features();
    REQUIRE(first.size() == 2);
    CHECK(first[0].signal == Approx(std::asinh(25.0 / 4 - 1)));  // 2 releases × 2 numbers
    CHECK(first[1].signal == Approx(std::asinh(4 / (second_deviation * second_deviation) / 6 - 1)));
    CHECK(first[0].cosine == 0);
    CHECK(first[0].along == 0);
    CHECK(first[0].update == Approx(1));
    CHECK(first[1].update == Approx(1 / std::sqrt(6.0)));
    watch.add(row({3, -4, 0, 0, 0}), noise_of_both);
    watch.close(row({0, 0.5, 1, 1, 2}));
    CHECK(watch.features()[0].cosine == Approx(-0.28));
    CHECK(watch.features()[1].cosine == 0);
    CHECK(watch.features()[0].along == Approx(0.8));  // down where the first block went, by (0, 0.5)
    CHECK(watch.features()[1].along == 0);
    CHECK(watch.features()[0].update == Approx(std::exp(-9)));
}

TEST_CASE("noise alone shows no signal on average, and a radius that changes changes nothing") {
    rl::block_watch small(two_groups, at::zeros({5})), large(two_groups, at::zeros({5}));
    auto wider = noise_of_both;
    for (double& deviation : wider) deviation *= 2;
    at::manual_seed(1);
    const auto deviations = row({1, 1, 1, 1, 1}).to(at::kDouble) *
                            at::tensor({1.0, 1.0, second_deviation, second_deviation, second_deviation}, at::kDouble);
    double mean = 0;
    for (int block = 0; block < 400; ++block) {
        for (int step = 0; step < 4; ++step) {
            const auto noise = (at::randn({5}, at::kDouble) * deviations).to(at::kFloat);
            small.add(noise, noise_of_both);
            large.add(noise * 2, wider);
        }
        small.close(at::zeros({5}));
        large.close(at::zeros({5}));
        CHECK(small.features()[1].signal == Approx(large.features()[1].signal));
        mean += std::sinh(small.features()[1].signal) / 400;
    }
    CHECK(mean == Approx(0).margin(0.15));  // deviation √(2/3)/√400 = 0.04
}

TEST_CASE("noise in bands is whitened before it is watched") {
    const auto bands = privacy::make_bands(4, 100);
    rl::block_watch watch(two_groups, at::zeros({5}), bands), raw(two_groups, at::zeros({5}));
    at::manual_seed(4);
    std::vector<at::Tensor> x;  // C⁻¹z, by forward substitution
    double mean = 0, of_raw = 0, scores = 0, score_squares = 0;
    for (int block = 0; block < 400; ++block) {
        for (int step = 0; step < 4; ++step) {
            auto next = at::randn({5}, at::kDouble);
            for (std::size_t k = 1; k < bands.size() && k <= x.size(); ++k) next -= x[x.size() - k] * bands[k];
            x.push_back(next / bands[0]);
            watch.add(x.back().to(at::kFloat), {1, 1});
            raw.add(x.back().to(at::kFloat), {1, 1});
        }
        watch.close(at::full({5}, 1 + block % 3));  // it moves each time
        raw.close(at::zeros({5}));
        CHECK(watch.score().has_value() == (block > 0));
        scores += watch.score().value_or(0);
        score_squares += std::pow(watch.score().value_or(0), 2);
        mean += std::sinh(watch.features()[1].signal) / 400;
        of_raw += std::sinh(raw.features()[1].signal) / 400;
    }
    CHECK(mean == Approx(0).margin(0.12));  // deviation 0.04, as above
    CHECK(of_raw < -0.15);                  // what is taken back shows as a signal
    // Of independent releases: a score's variance is one where nothing is to be learnt.
    CHECK(scores / 399 == Approx(0).margin(0.2));
    CHECK(score_squares / 399 == Approx(1).margin(4 * std::sqrt(2 / 399.0)));
    // After a step that was lost nothing is taken for the step before.
    watch.skip();
    rl::block_watch fresh(two_groups, at::zeros({5}), bands);
    for (auto* one : {&watch, &fresh}) {
        one->add(row({3, 0, 1, 0, 0}), noise_of_both);
        one->close(at::zeros({5}));
    }
    CHECK(watch.features()[0].signal == fresh.features()[0].signal);
}

TEST_CASE("along a line it is positive before the lowest point, zero there and negative beyond, whatever the noise") {
    // f = ½(x − 1)²·|u|², u = (1, 1), of two adapters: both see the same line.
    at::manual_seed(3);
    const auto deviations =
        at::tensor({1.0, 1.0, second_deviation, second_deviation, second_deviation}, at::kDouble).to(at::kFloat);
    for (const double reached : {0.5, 1.0, 1.5}) {
        std::array<double, 2> mean = {}, squares = {};
        double mean_score = 0;
        constexpr int runs = 2000;
        for (int run = 0; run < runs; ++run) {
            rl::block_watch watch(two_groups, at::zeros({5}));
            const auto noisy = [&](double x) {
                return at::full({5}, static_cast<float>(x - 1)) + at::randn({5}) * deviations;
            };
            watch.add(noisy(0), noise_of_both);
            watch.close(at::full({5}, reached));
            watch.add(noisy(reached), noise_of_both);
            watch.close(at::full({5}, 7));  // where this block went is the next one's affair
            REQUIRE(watch.score());
            mean_score += *watch.score() / runs;
            for (std::size_t i = 0; i < 2; ++i) {
                mean[i] += watch.features()[i].along / runs;
                squares[i] += watch.features()[i].along * watch.features()[i].along / runs;
            }
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const double error = std::sqrt(squares[i] / runs);
            CAPTURE(reached, i, mean[i], error);
            if (reached < 1) CHECK(mean[i] > 4 * error);
            if (reached == 1) CHECK(std::abs(mean[i]) < 4 * error);
            if (reached > 1) CHECK(mean[i] < -4 * error);
        }
        // The slope is 5(x − 1) along u, and its noise has the variance of five numbers'.
        const double slope = 5 / std::sqrt(2 + 3 * second_deviation * second_deviation);
        CHECK(mean_score == Approx((1 - reached) * slope).margin(4 / std::sqrt(static_cast<double>(runs))));
    }
}

TEST_CASE("a score's variance is one under noise alone, however unlike adapters are in size and noise") {
    struct one_adapter {
        std::int64_t size;
        double deviation, reach;
    };
    at::manual_seed(6);
    for (const auto& all :
         {std::vector<one_adapter>{{2, 1, 1}, {30, 100, 1}},
          std::vector<one_adapter>{{1, 0.01, 5}, {3, 1, 0.1}, {200, 0.3, 2}}, std::vector<one_adapter>{{7, 3, 1}}}) {
        std::vector<at::Tensor> moved;
        for (const auto& one : all) moved.push_back(at::randn({one.size}, at::kDouble) * one.reach);
        double mean = 0, squares = 0;
        constexpr int trials = 2000, releases = 4;
        for (int trial = 0; trial < trials; ++trial) {
            rl::slope_score score;
            for (std::size_t i = 0; i < all.size(); ++i) {
                const auto sum = at::randn({all[i].size}, at::kDouble) * std::sqrt(releases);  // in its own noise
                score.add((sum * moved[i]).sum().item<double>(), all[i].deviation,
                          moved[i].square().sum().item<double>(), releases);
            }
            REQUIRE(score.value());
            mean += *score.value() / trials;
            squares += *score.value() * *score.value() / trials;
        }
        CAPTURE(all.size(), mean, squares);
        CHECK(mean == Approx(0).margin(4 / std::sqrt(static_cast<double>(trials))));
        CHECK(squares == Approx(1).margin(4 * std::sqrt(2.0 / trials)));
    }
    CHECK_FALSE(rl::slope_score().value());
    rl::slope_score still;
    still.add(0, 1, 0, 4);
    CHECK_FALSE(still.value());
}

TEST_CASE("a score has the slope's sign where one adapter's noise hides what another's says") {
    // The slope is −1 in the first adapter, 20 in the second under a hundred times the noise. Mean cosine: −0.4.
    rl::block_watch watch(two_groups, at::zeros({5}));
    watch.add(at::ones({5}), {1, 100});
    watch.close(row({1, 0, 1, 0, 0}));
    CHECK_FALSE(watch.score());
    watch.add(row({1, 0, -20, 100 * std::sqrt(0.96F), 0}), {1, 100});
    watch.close(at::ones({5}));
    CHECK(watch.features()[0].along == Approx(-1));
    CHECK(watch.features()[1].along == Approx(0.2));
    REQUIRE(watch.score());
    CHECK(*watch.score() == Approx(19 / std::sqrt(1.0 + 100 * 100)));
}

TEST_CASE("a block has a score where it had releases, and one before it, too") {
    rl::block_watch watch(two_groups, at::zeros({5}));
    double reached = 0;
    const auto close_after = [&](int releases) {
        for (int i = 0; i < releases; ++i) watch.add(row({1, 2, 3, 4, 5}), noise_of_both);
        watch.close(at::full({5}, reached += 1));
        return watch.score();
    };
    CHECK_FALSE(close_after(0));
    CHECK_FALSE(close_after(2));
    CHECK_FALSE(close_after(0));
    const auto once = close_after(1);
    REQUIRE(once);
    CHECK(*once < 0);  // releases point the way that it goes up
    CHECK_FALSE(close_after(0));
    const auto twice = close_after(2);
    REQUIRE(twice);
    CHECK(*twice == Approx(*once * std::sqrt(2.0)));
}

TEST_CASE("a block without releases leaves signal and cosine as they were") {
    rl::block_watch watch(two_groups, at::ones({5}));
    watch.add(row({3, 0, 1, 0, 0}), noise_of_both);
    watch.close(at::ones({5}));
    const auto before = watch.features();
    watch.close(at::ones({5}) * 2);
    CHECK(watch.features()[0].signal == before[0].signal);
    CHECK(watch.features()[0].update > before[0].update);
}

TEST_CASE("a watch that is restored within a block goes on bit for bit") {
    at::manual_seed(2);
    rl::block_watch watch(two_groups, at::randn({5})), other(two_groups, at::zeros({5}));
    const auto both = [&](auto act) { act(watch), act(other); };
    for (int block = 0; block < 2; ++block) {
        watch.add(at::randn({5}), noise_of_both);
        watch.close(at::randn({5}));
    }
    watch.add(at::randn({5}), noise_of_both);
    const auto kept = watch.tensors();
    const auto numbers = watch.numbers();
    other.restore(kept, numbers);
    REQUIRE(watch.score());
    CHECK(other.score() == watch.score());
    const auto next = at::randn({5});
    const auto adapter = at::randn({5});
    both([&](rl::block_watch& one) { one.add(next, noise_of_both), one.close(adapter); });
    CHECK(same(watch.features(), other.features()));
    CHECK(other.score() == watch.score());
    CHECK(watch.numbers() == other.numbers());
    CHECK(at::equal(watch.tensors(), other.tensors()));
    CHECK_FALSE(at::equal(watch.tensors(), kept));  // what was snapshot stays as it was
    CHECK_THROWS_AS(other.restore(at::zeros({4, 4}), numbers), error);
    CHECK_THROWS_AS(other.restore(kept, "{}"), error);
    CHECK_THROWS_AS(other.restore({}, numbers), error);
}

namespace {

privacy::release make_release(std::uint64_t seq, const at::Tensor& gradient) {
    auto out = testing::blank_release(seq);
    out.gradient = gradient;
    return out;
}

rl::training watched_training(std::int64_t steps, const at::Tensor& rate_factors = {}) {
    auto method = std::make_unique<rl::steered>(rl::steered_config{.segments = two_groups,
                                                                   .expected_batch = 4,
                                                                   .initial_radius = 0.5,
                                                                   .clip_min = 0.01,
                                                                   .clip_max = 1,
                                                                   .initial_loss = 1,
                                                                   .statistics_share = 0.02});
    const rl::training_config plan = {
        .steps = steps,
        .rate = {.peak = 0.01},
        .adamw = {.rate_factors = rate_factors},
        .interval = 4,
        .initial_noise_multiplier = 1,
        .watches = true,
        .noised = privacy::sanitizer_config{.segments = two_groups, .how = allocation::shares}};
    return {plan, std::move(method), at::ones({5})};
}

void play(rl::training& run, std::int64_t until) {
    while (run.step() < until) {
        const auto seq = static_cast<std::uint64_t>(run.step() + 1);
        auto value = make_release(seq, at::full({5}, std::sin(static_cast<float>(seq))));
        value.statistics.assign(11, 0.0);
        run.apply(value);
        if (!run.decision_due()) continue;
        const auto seen = run.observe(0.5);
        CHECK(seen.score.has_value() == (run.step() > 4));
        rl::block_action chosen;
        chosen.noise_multiplier = 1;
        chosen.lr_factor = 1 + 0.1 * seen.time;
        chosen.rates = {1 + seen.features[0].update, 0.5};
        chosen.shares = {0.4, 0.6};
        run.set(chosen);
    }
}

}  // namespace

TEST_CASE("an optimizer that asks for the noise is told that of the mean gradient") {
    // Two groups of sensitivity 0.5 (of a clipped mean: 1) have √2 of that each; the mean over 4 has a quarter.
    for (const bool mean : {false, true}) {
        const privacy::method_config how{.name = mean ? "dp_lora_literal" : "static",
                                         .pair_sizes = {5},
                                         .groups = 2,
                                         .expected_batch = 4,
                                         .initial_radius = 0.5,
                                         .clip_min = 0.01,
                                         .clip_max = 1};
        const rl::training_config plan{.steps = 4,
                                       .rate = {.peak = 0.01},
                                       .optimizer = optimizer_kind::hypergradient,
                                       .interval = 4,
                                       .initial_noise_multiplier = 1,
                                       .expected_batch = 4,
                                       .noised = privacy::sanitizer_config{.segments = two_groups}};
        rl::training run(plan, privacy::make_method(how), at::zeros({5}));
        run.apply(make_release(1, row({3, 0, 0, 0, 4})));  // moves by −0.01 where it is not zero
        run.apply(make_release(2, row({-0.25, 1, 1, 1, -0.5})));
        // ⟨−g, the move⟩ is −0.0075 and its deviation 0.01·√2·√2 times the sensitivity, whatever both are divided by.
        const double score = mean ? -0.375 : -0.75;
        const auto numbers = nlohmann::json::parse(run.snapshot().optimizer.numbers);
        CHECK(numbers.at("log_factor").get<double>() == Approx(0.02 * score).epsilon(1e-4));
    }
    auto config = rl::training_config{.steps = 1, .optimizer = optimizer_kind::prodigy};
    CHECK_THROWS_AS(
        rl::training(config, std::make_unique<rl::steered>(rl::steered_config{.segments = two_groups}), at::zeros({5})),
        error);
}

TEST_CASE("an adapter's own rate moves it alone, by that factor") {
    auto plain = watched_training(8), halved = watched_training(8);
    rl::block_action chosen;
    chosen.noise_multiplier = 1;
    chosen.rates = {1, 0.5};
    halved.set(chosen);
    for (auto* one : {&plain, &halved}) one->apply(make_release(1, at::ones({5})));
    const auto full = plain.adapter() - 1, half = halved.adapter() - 1;
    CHECK(at::equal(half.narrow(0, 0, 2), full.narrow(0, 0, 2)));
    CHECK(at::allclose(half.narrow(0, 2, 3) * 2, full.narrow(0, 2, 3), 1e-4));

    // On top of what each number has always (LoRA+).
    auto both = watched_training(8, row({1, 4, 1, 1, 4}));
    both.set(chosen);
    both.apply(make_release(1, at::ones({5})));
    CHECK(at::allclose(both.adapter() - 1, half * row({1, 4, 1, 1, 4}), 1e-4));
}

TEST_CASE("a training that looks at its gradients is restored bit for bit at any step") {
    for (const std::int64_t stop : {3, 4, 6, 9}) {
        auto whole = watched_training(16), first = watched_training(16), second = watched_training(16);
        play(whole, 16);
        play(first, stop);
        second.restore(first.snapshot());
        play(second, 16);
        CHECK(at::equal(second.adapter(), whole.adapter()));
        CHECK(second.snapshot().rest == whole.snapshot().rest);
    }
}
