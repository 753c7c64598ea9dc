#include "rl/research/families.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "run/train/rate_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up.hpp"

using namespace rldp::rl;

namespace {

const rate_line last_iterate = {.tail = 1e-3};

// SGD on radii so wide that nothing is clipped: every number is a linear recursion of its own.
quadratics linear_task() {
    auto out = small_task();
    out.how = optimiser::sgd;
    out.radii = {1e3, 1e3};
    out.rate = 100;
    return out;
}

/// Of a single number, without noise.
quadratics one_number_task() {
    auto out = linear_task();
    out.unit_noise = out.noise_multiplier = 0;
    out.sizes = {1};
    out.radii = {1e3};
    out.weight_norms = {0};
    out.curvatures = {1};
    out.start = {1};
    return out;
}

/// Of 160 steps in blocks of four, whose optimum Adam reaches at a mean rate of 0.02 that falls to zero.
quadratics reachable_task() {
    quadratics out;
    out.sizes = {12, 8};
    out.radii = {2, 1.5};
    out.weight_norms = {1, 1};
    for (const auto& [size, curvature] : {std::pair{12, 1.0}, std::pair{8, 0.5}})
        for (int j = 0; j < size; ++j) out.curvatures.push_back(curvature / (1 + 0.25 * j));
    for (int k = 0; k < 20; ++k) out.start.push_back((k % 2 == 0 ? -1 : 1) * (0.6 + 0.1 * (k % 5)));
    out.unit_noise = 0.5;
    out.noise_multiplier = 1;
    out.batch = 64;
    out.epochs = 2;
    out.steps = 160;
    out.interval = 4;
    out.rate = 0.02;
    return out;
}

double played_by(const quadratics& of, const rate_line& line, std::uint64_t seed, const rule& how) {
    const auto run = of.begin(line, seed);
    while (!run->finished()) run->play(how(run->look()));
    return run->log_excess();
}

struct moments {
    double mean = 0, variance = 0;
};

// Of ½Σhθ² at the end, θ Gaussian: each number's mean and variance by their recursions. `factors` of the adapters'
// rates hold from the second block on, for the first is played before anyone decides.
moments exact_excess(const quadratics& of, const std::vector<double>& factors) {
    moments out;
    std::size_t k = 0;
    for (std::size_t i = 0; i < of.sizes.size(); ++i)
        for (std::size_t j = 0; j < of.sizes[i]; ++j, ++k) {
            const double h = of.curvatures[k], radius = of.radii[i];
            const double noise = of.noise_multiplier * radius * std::sqrt(static_cast<double>(of.sizes.size()));
            double mean = of.start[k], variance = 0;
            for (std::int64_t step = 1; step <= of.steps; ++step) {
                const double rate = of.rate / radius * (step <= of.interval ? 1 : factors[i]);
                mean *= 1 - rate * h;
                variance = (1 - rate * h) * (1 - rate * h) * variance +
                           rate * rate * (of.batch * of.unit_noise * h + noise * noise) / (of.batch * of.batch);
            }
            out.mean += 0.5 * h * (mean * mean + variance);
            out.variance += 0.25 * h * h * (2 * variance * variance + 4 * mean * mean * variance);
        }
    return out;
}

}  // namespace

TEST_CASE("a quadratic's losses have the moments of the exact recursions") {
    auto task = linear_task();
    task.noise_multiplier = 0.02;
    auto uneven = neutral(2);
    uneven.rate = -0.25;
    uneven.rates = {0.5, -1};
    for (const auto& [chosen, factors] : {std::pair{neutral(2), std::vector{1.0, 1.0}},
                                          std::pair{uneven, std::vector{std::exp(0.25), std::exp(-1.25)}}}) {
        const auto exact = exact_excess(task, factors);
        constexpr int runs = 4000;
        double sum = 0, squares = 0;
        for (std::uint64_t seed = 0; seed < runs; ++seed) {
            const double excess = std::exp(played(task, last_iterate, seed, chosen));
            sum += excess;
            squares += excess * excess;
        }
        const double mean = sum / runs, variance = squares / runs - mean * mean;
        CHECK(mean == Approx(exact.mean).margin(4 * std::sqrt(exact.variance / runs)));
        CHECK(variance == Approx(exact.variance).epsilon(0.12));
    }
}

TEST_CASE("without noise a quadratic falls as its closed form says") {
    auto task = linear_task();
    task.unit_noise = task.noise_multiplier = 0;
    double exact = 0;
    for (std::size_t k = 0; k < task.start.size(); ++k) {
        const double end = task.start[k] * std::pow(1 - task.rate * task.curvatures[k] / 1e3, task.steps);
        exact += 0.5 * task.curvatures[k] * end * end;
    }
    CHECK(played(task, last_iterate, 1, neutral(2)) == Approx(std::log(exact)));

    // Clipped, a sum divided by the radius has norm one at most: the gradient's direction.
    task.radii = {1e-3, 1e-3};
    task.sizes = {5};
    task.weight_norms = {1};
    task.radii.resize(1);
    task.rate = 0.01;
    auto theta = task.start;
    const rate_schedule rates = {.peak = 0.01, .last = 0.01, .steps = 32, .warmup = 1};
    for (std::int64_t step = 1; step <= 32; ++step) {
        double squares = 0;
        for (std::size_t k = 0; k < 5; ++k) squares += std::pow(task.curvatures[k] * theta[k], 2);
        for (std::size_t k = 0; k < 5; ++k)
            theta[k] -= rates.rate(step) * task.curvatures[k] * theta[k] / std::sqrt(squares);
    }
    exact = 0;
    for (std::size_t k = 0; k < 5; ++k) exact += 0.5 * task.curvatures[k] * theta[k] * theta[k];
    CHECK(played(task, last_iterate, 1, neutral(1)) == Approx(std::log(exact)));
}

TEST_CASE("the same seed gives the same bits, and the same noise whatever is set") {
    const auto task = small_task();
    CHECK(played(task, {}, 5, neutral(2)) == played(task, {}, 5, neutral(2)));
    CHECK(played(task, {}, 5, neutral(2)) != played(task, {}, 6, neutral(2)));
    // Were the noise not the same, the correlation over seeds of two runs under different moves would be near 0.
    auto uneven = neutral(2);
    uneven.rates = {0.3, -0.3};
    double xy = 0, xx = 0, yy = 0, x_sum = 0, y_sum = 0;
    constexpr int runs = 300;
    for (std::uint64_t seed = 0; seed < runs; ++seed) {
        const double x = played(task, {}, seed, neutral(2)), y = played(task, {}, seed, uneven);
        x_sum += x;
        y_sum += y;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    const double covariance = xy / runs - x_sum * y_sum / runs / runs;
    const double spread =
        std::sqrt((xx / runs - x_sum * x_sum / runs / runs) * (yy / runs - y_sum * y_sum / runs / runs));
    CHECK(covariance / spread > 0.5);
}

TEST_CASE("a move changes what it names") {
    auto task = small_task();
    task.noise_multiplier = 0;
    task.unit_noise = 0;
    const auto after = [&](const policy_action& chosen) {
        const auto run = task.begin(last_iterate, 1);
        run->play(chosen);
        return run->look();
    };
    const auto as_it_was = after(neutral(2));
    auto faster = neutral(2);
    faster.rate = std::log(2.0);
    CHECK(after(faster).adapters[0][of_adapter::update] > as_it_was.adapters[0][of_adapter::update] + 0.3);
    CHECK(after(faster).global[of_run::rate] == std::log(2.0));

    auto own = neutral(2);
    own.rates[1] = -1;
    CHECK(after(own).adapters[0][of_adapter::update] == as_it_was.adapters[0][of_adapter::update]);
    CHECK(after(own).adapters[1][of_adapter::update] < as_it_was.adapters[1][of_adapter::update] - 0.5);
    CHECK(after(own).adapters[1][of_adapter::rate] == -1);
}

TEST_CASE("along the last block's action an observation shows whether the rate is too low or too high") {
    auto task = one_number_task();
    task.steps = 4;
    task.interval = 1;
    const auto along = [&](double rate) {
        task.rate = rate;
        const auto run = task.begin(last_iterate, 1);
        CHECK(run->look().adapters[0][of_adapter::along] == 0);
        run->play(neutral(1));
        return run->look().adapters[0][of_adapter::along];
    };
    CHECK(along(500) == Approx(1));    // half the way to the optimum
    CHECK(along(1000) == 0);           // there
    CHECK(along(1500) == Approx(-1));  // beyond
}

TEST_CASE("a block's score is the slope along the last move in deviations of its noise, and the first has none") {
    auto task = one_number_task();
    task.noise_multiplier = 16e-9;
    task.steps = 4;
    task.interval = 1;
    const double deviation = 1e-9;  // of a release: z/B
    const auto score_at = [&](double rate) {
        task.rate = rate;
        const auto run = task.begin(last_iterate, 1);
        const auto first = run->look();
        CHECK_FALSE(first.scored);
        CHECK(first.global[of_run::score] == 0);
        CHECK(first.global[of_run::scores] == 0);
        run->play(neutral(1));
        const auto second = run->look();
        CHECK(second.scored);
        CHECK(second.global[of_run::scores] == Approx(std::log(2.0)));
        run->play(neutral(1));
        CHECK(run->look().global[of_run::scores] == Approx(std::log(3.0)));
        return second.global[of_run::score];
    };
    // A release is θ/1000, and θ is left at 0.5, 0 and −0.5.
    CHECK(score_at(500) == Approx(0.5e-3 / deviation).epsilon(1e-3));
    CHECK(std::abs(score_at(1000)) < 8);
    CHECK(score_at(1500) == Approx(-0.5e-3 / deviation).epsilon(1e-3));
    task.noise_multiplier = 0;  // there is nothing to measure by
    const auto run = task.begin(last_iterate, 1);
    run->play(neutral(1));
    CHECK_FALSE(run->look().scored);
}

TEST_CASE("where nothing is to be learnt scores have mean 0 and variance 1, whatever adapters move") {
    auto task = small_task();
    task.start.assign(5, 0.0);
    task.unit_noise = 0;
    task.rate = 1e-9;
    auto uneven = neutral(2);
    uneven.rates = {1, -1};
    double sum = 0, squares = 0;
    constexpr int runs = 500;
    for (std::uint64_t seed = 0; seed < runs; ++seed) {
        const auto run = task.begin({}, seed);
        while (!run->finished()) {
            run->play(uneven);
            const double score = run->look().global[of_run::score];
            sum += score;
            squares += score * score;
        }
    }
    constexpr double scores = 3.0 * runs;  // of four blocks
    CHECK(sum / scores == Approx(0).margin(4 / std::sqrt(scores)));
    CHECK(squares / scores == Approx(1).margin(4 * std::sqrt(2 / scores)));
}

TEST_CASE("a rule that listens mends a rate that is off by sixteen, and costs little where it was right") {
    const rate_line falling = {.tilt = -1};
    const rule still = {}, listens = {{0.5, 0.3, 0, 1.5}}, contrary = {{-0.5, 0.3, 0, 1.5}};
    const auto mean_loss = [&](double factor, const rule& how) {
        auto task = reachable_task();
        task.rate *= factor;
        double out = 0;
        for (std::uint64_t seed = 1; seed <= 8; ++seed) out += played_by(task, falling, seed, how) / 8;
        return out;
    };
    const double right = mean_loss(1, still), low = mean_loss(1.0 / 16, still), high = mean_loss(16, still);
    const double raised = mean_loss(1.0 / 16, listens), lowered = mean_loss(16, listens);
    CAPTURE(right, low, high, raised, lowered);
    CHECK(low > right + 3);
    CHECK(high > right + 0.5);
    CHECK(raised < low - 3);
    CHECK(lowered < high - 0.5);
    CHECK(mean_loss(1, listens) < right + 1);
    // One that takes scores the wrong way does neither.
    CHECK(mean_loss(1.0 / 16, contrary) > low);
    CHECK(mean_loss(16, contrary) > lowered + 0.5);
}

TEST_CASE("an observation shows signal where there is some") {
    auto task = small_task();
    double with = 0, without = 0;
    constexpr int runs = 400;
    auto still = task;
    still.start.assign(5, 0.0);
    still.unit_noise = 0;
    still.rate = 1e-9;
    task.noise_multiplier = 0.1;
    for (std::uint64_t seed = 0; seed < runs; ++seed) {
        with += task.begin({}, seed)->look().adapters[0][of_adapter::signal] / runs;
        const auto seen = still.begin({}, seed)->look();
        without += std::sinh(seen.adapters[0][of_adapter::signal]) / runs;
        CHECK(seen.adapters[0][of_adapter::cosine] == 0);
    }
    CHECK(with > 2);
    CHECK(without == Approx(0).margin(4 * std::sqrt(2.0 / 3 / runs)));  // a mean of chi-squares of three
    const auto seen = task.begin({}, 1)->look();
    CHECK(seen.global[of_run::time] == 0.25);
    CHECK(seen.global[of_run::noise] == Approx(std::log(0.1 * std::sqrt(5.0) / 16)));
    CHECK(seen.global[of_run::epochs] == Approx(std::log(2.0)));
    CHECK(seen.global[of_run::rate] == 0);
    const auto plan = task.plan();
    CHECK(plan.steps == 32);
    CHECK(plan.noise == seen.global[of_run::noise]);
    CHECK(plan.adapters == 2);
    CHECK(plan.bands == 1);
}

TEST_CASE("what is kept is the mean of the last iterates") {
    auto task = one_number_task();
    double theta = 1, sum = 0;
    for (int step = 1; step <= 32; ++step) {
        theta *= 0.9;
        if (step > 24) sum += theta / 8;
    }
    CHECK(played(task, {.tail = 0.25}, 1, neutral(1)) == Approx(std::log(0.5 * sum * sum)));
}

TEST_CASE("moves beyond their limits or for other adapters are bugs") {
    const auto task = small_task();
    const auto run = task.begin({}, 1);
    CHECK_THROWS_AS(run->play(neutral(3)), rldp::error);
    auto far = neutral(2);
    far.rate = 2 * rate_limit;
    CHECK_THROWS_AS(run->play(far), rldp::error);
    CHECK_NOTHROW(run->play(within_limits(far)));
    auto uneven = task;
    uneven.steps = 33;
    CHECK_THROWS_AS(uneven.begin({}, 1), rldp::error);
}
