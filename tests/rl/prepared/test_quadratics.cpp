#include "rl/research/families.hpp"

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "run/train/rate_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up.hpp"

using namespace rldp::rl;

namespace {

const schedule last_iterate = {.tail = 1e-3};

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
    out.public_optima = {0};
    return out;
}

struct moments {
    double mean = 0, variance = 0;
};

// Of ½Σhθ² at the end, θ Gaussian: each number's mean and variance by their recursions. Shares are equal in the first
// block, which is played before anyone decides.
moments exact_excess(const quadratics& of, const std::vector<double>& later_shares) {
    moments out;
    std::size_t k = 0;
    for (std::size_t i = 0; i < of.sizes.size(); ++i)
        for (std::size_t j = 0; j < of.sizes[i]; ++j, ++k) {
            const double h = of.curvatures[k], radius = of.radii[i];
            double mean = of.start[k], variance = 0;
            for (std::int64_t step = 1; step <= of.steps; ++step) {
                const double rate = of.rate / radius, share = step <= of.interval ? 0.5 : later_shares[i];
                const double noise = of.noise_multiplier * radius / std::sqrt(share);
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
    auto tilted = neutral(2);
    tilted.shares = {0.5, -1};
    const double first = std::exp(0.5) / (std::exp(0.5) + std::exp(-1));
    for (const auto& [chosen, shares] :
         {std::pair{neutral(2), std::vector{0.5, 0.5}}, std::pair{tilted, std::vector{first, 1 - first}}}) {
        const auto exact = exact_excess(task, shares);
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
    auto tilted = neutral(2);
    tilted.shares = {1, -1};
    double xy = 0, xx = 0, yy = 0, x_sum = 0, y_sum = 0;
    constexpr int runs = 300;
    for (std::uint64_t seed = 0; seed < runs; ++seed) {
        const double x = played(task, {}, seed, neutral(2)), y = played(task, {}, seed, tilted);
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

TEST_CASE("without public records there is nothing to probe, and the run is the same") {
    auto task = small_task();
    const double with = played(task, {}, 3, neutral(2));
    CHECK(task.begin({}, 3)->look().global[of_run::probe] != 0);
    task.probed = false;
    CHECK(played(task, {}, 3, neutral(2)) == with);
    const auto seen = task.begin({}, 3)->look();
    CHECK(seen.global[of_run::probe] == 0);
    CHECK(seen.global[of_run::slope] == 0);
}

TEST_CASE("shares are positive and sum to one") {
    auto chosen = neutral(3);
    chosen.shares = {-share_limit, 0, share_limit};
    const auto shares = compute_shares(chosen);
    CHECK(shares[0] + shares[1] + shares[2] == Approx(1));
    CHECK(shares[2] / shares[1] == Approx(std::exp(2.0)));
    CHECK(shares[0] > 0);
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
    CHECK(seen.global[of_run::slope] < 0);
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
