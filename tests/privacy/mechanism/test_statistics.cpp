#include "privacy/mechanism/statistics.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/simulated_statistics.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/mechanism/sanitizer.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;
using rldp::bench::population;
using rldp::bench::simulate;

namespace {

double norm(const std::vector<double>& x) {
    double out = 0;
    for (double v : x) out += v * v;
    return std::sqrt(out);
}

statistics_frame make_frame(std::size_t groups) {
    statistics_frame out;
    for (std::size_t i = 0; i < groups; ++i) {
        const double r = 0.1 * static_cast<double>(i + 1);
        out.trackers.push_back({r, 2 * r, 3 * r});
    }
    out.loss_centre = 1.5;
    out.loss_range = 0.5;
    out.norm_range = 2;
    return out;
}

}  // namespace

TEST_CASE("no unit's statistics are longer than the sensitivity, whatever it holds") {
    const double inf = std::numeric_limits<double>::infinity();
    const std::vector<double> extremes = {0, -0.0, 1e-308, 1, 1e308, inf, -inf, std::nan(""), -5};
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> norms(-1, 2);
    double longest = 0;
    for (int round = 0; round < 4000; ++round) {
        const std::size_t n = 1 + random() % 30;
        std::vector<double> row(n);
        for (double& v : row) v = random() % 4 == 0 ? extremes[random() % extremes.size()] : norms(random);
        const double loss = random() % 2 ? extremes[random() % extremes.size()] : norms(random);
        const auto [phi, sensitivity] =
            statistics_sum(at::tensor(row, at::kDouble).unsqueeze(0), at::tensor({loss}, at::kDouble), make_frame(n));
        REQUIRE(phi.size() == 3 * n + 5);
        const double ratio = norm(phi) / sensitivity;
        REQUIRE(ratio <= 1 + 1e-14);
        longest = std::max(longest, ratio);
    }
    CHECK(longest > 0.999);  // the bound is reached: Δ is not padded
}

TEST_CASE("statistics of two units, worked out by hand") {
    statistics_frame frame;
    frame.trackers = {{1, 2, 3}, {1, 2, 3}};
    frame.loss_centre = 1;
    frame.loss_range = 2;
    frame.norm_range = 4;
    const auto norms = at::tensor({1.0, 2.5, 8.0, 0.5}, at::kDouble).view({2, 2});
    const auto losses = at::tensor({2.0, 9.0}, at::kDouble);
    const auto w = weights_for(2);
    CHECK(w.sensitivity(2) == Approx(1));
    CHECK(0.75 * 2 * w.quantile * w.quantile + w.loss * w.loss + w.moment * w.moment == Approx(1));
    const auto sum = statistics_sum(norms, losses, frame).sum;
    const std::vector<double> bits = {-0.5, 0, 0, 0, 0, 1};  // the norm 1 lies on its tracker: half within
    for (std::size_t j = 0; j < 6; ++j) CHECK(sum[j] == Approx(w.quantile * bits[j]).margin(1e-15));
    CHECK(sum[6] == Approx(w.loss * (0.5 + 1)));
    const double ratios[2][2] = {{0.25, 0.625}, {1, 0.125}};
    for (int k = 1; k <= 4; ++k) {
        double moments = 0;
        for (const auto& unit : ratios) moments += (std::pow(unit[0], k) + std::pow(unit[1], k)) / 2 - 0.5;
        CHECK(sum[static_cast<std::size_t>(6 + k)] == Approx(w.moment * moments));
    }
    const auto none = statistics_sum(at::zeros({0, 2}, at::kDouble), at::zeros({0}, at::kDouble), frame);
    CHECK(norm(none.sum) == 0);
    CHECK(none.sensitivity == Approx(1));
    frame.loss_range = 0;
    CHECK_THROWS_AS(statistics_sum(norms, losses, frame), rldp::error);
    CHECK_THROWS_AS(weights_for(0), rldp::error);
}

TEST_CASE("trackers, loss and moments converge to the truth, the closer the less noise and the larger the batch") {
    const population from{6};
    const auto clear = simulate(from, 500, 0.5, 400, 1);
    CHECK(clear.worst_log_error < 0.12);
    for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t k = 0; k < 3; ++k) {
            CHECK(clear.seen.quartiles[3 * i + k] == Approx(from.quantile(i, k)).epsilon(0.12));
        }
    }
    CHECK(clear.seen.loss == Approx(2).margin(0.02));
    CHECK(clear.seen.utility == -clear.seen.loss);
    CHECK(clear.seen.epsilon == 1.25);
    double second = 0, fourth = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        second += std::pow(from.median(i), 2) * std::exp(2 * 0.25) / 6;
        fourth += std::pow(from.median(i), 4) * std::exp(8 * 0.25) / 6;
    }
    CHECK(clear.seen.fisher_mean == Approx(second).epsilon(0.1));  // less what the range clips
    CHECK(clear.seen.fisher_variance < fourth - second * second);
    CHECK(clear.seen.fisher_variance > 0.3 * (fourth - second * second));
    CHECK(clear.seen.skewness > 0.3);
    CHECK(clear.seen.kurtosis > 2);

    const auto noisy = simulate(from, 64, 5, 400, 2);
    const auto larger = simulate(from, 256, 5, 400, 2);
    WARN("worst log error of a quartile: " << clear.worst_log_error << " (B 500, z 0.5), " << larger.worst_log_error
                                           << " (B 256, z 5), " << noisy.worst_log_error << " (B 64, z 5)");
    CHECK(clear.worst_log_error < larger.worst_log_error);
    CHECK(larger.worst_log_error < noisy.worst_log_error);
    CHECK(noisy.worst_log_error < 1);
}

TEST_CASE("observations are finite and in range whatever the noise") {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (double scale : {0.0, 1.0, 1e3, 1e12, 1e150}) {
        statistics_tracker tracker(4, 16, 0.1, 3);
        for (int step = 1; step <= 250; ++step) {
            auto out = rldp::testing::blank_release();
            for (int j = 0; j < 17; ++j) out.statistics.push_back(scale * normal(random));
            tracker.add(out);
            if (step % 8) continue;
            const auto seen = tracker.observe(0.5);
            const auto flat = seen.flat();
            REQUIRE(flat.size() == 3 * 4 + 8);
            for (double v : flat) REQUIRE(std::isfinite(v));
            REQUIRE(seen.variance > 0);
            REQUIRE(seen.fisher_mean >= 0);
            REQUIRE(seen.fisher_variance >= 0);
            for (std::size_t i = 0; i < 12; i += 3) {
                REQUIRE(seen.quartiles[i] <= seen.quartiles[i + 1]);
                REQUIRE(seen.quartiles[i + 1] <= seen.quartiles[i + 2]);
            }
        }
        const auto empty = tracker.observe(0.5);  // an interval without steps
        for (double v : empty.flat()) CHECK(std::isfinite(v));
    }
}

TEST_CASE("trackers stay for ten steps, and noise alone hardly moves them") {
    statistics_tracker tracker(2, 10, 0.1, 3);
    auto all_above = rldp::testing::blank_release();
    const auto w = weights_for(2);
    all_above.statistics.assign(11, -0.5 * 10 * w.quantile);
    for (int step = 1; step < 10; ++step) tracker.add(all_above);
    CHECK(tracker.medians() == std::vector<double>{0.1, 0.1});
    tracker.add(all_above);
    CHECK(tracker.medians()[0] == Approx(0.1 * std::exp(3 * 0.5)));
    CHECK(tracker.frame().norm_range == Approx(2 * tracker.frame().trackers[0][2]));

    // At their quantiles with strong noise: readings with a standard deviation of about 1 must not throw them about.
    statistics_tracker still(8, 16, 0.1, 3);
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    const auto weights = weights_for(8);
    for (int step = 1; step <= 100; ++step) {
        auto out = rldp::testing::blank_release();
        for (int j = 0; j < 29; ++j) {
            const double centre = j < 24 ? 0.25 * (j % 3 - 1) * 16 * weights.quantile : 0;
            out.statistics.push_back(centre + 16 * weights.quantile * 3 * normal(random));
        }
        still.add(out);
    }
    for (double r : still.medians()) CHECK(std::abs(std::log(r / 0.1)) < 1);
}

TEST_CASE("the tracker's state is saved to the bit") {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    const auto draw = [&] {
        auto out = rldp::testing::blank_release();
        for (int j = 0; j < 14; ++j) out.statistics.push_back(30 * normal(random));
        return out;
    };
    statistics_tracker one(3, 16, 0.1, 3);
    for (int at = 0; at < 37; ++at) {
        statistics_tracker other(3, 16, 0.2, 1);
        other.load(one.save());
        REQUIRE(other.save() == one.save());
        const auto next = draw();
        other.add(next);
        one.add(next);
        REQUIRE(other.save() == one.save());
        REQUIRE(other.last_loss() == one.last_loss());
        if (at % 7 == 0) {
            const auto a = one.observe(0.1).flat(), b = other.observe(0.1).flat();
            REQUIRE(a == b);
        }
    }
    statistics_tracker other(2, 16, 0.1, 3);
    CHECK(has(refusal([&] { other.load(one.save()); }), "another number of groups"));
    CHECK(has(refusal([&] { other.load("{}"); }), "can't be read"));
    CHECK(has(refusal([&] { other.load("not json"); }), "can't be read"));
}

TEST_CASE("releases without statistics, of another size, or unsound") {
    statistics_tracker tracker(2, 16, 0.1, 3);
    tracker.add(rldp::testing::blank_release());
    CHECK(std::isnan(tracker.last_loss()));
    CHECK(tracker.observe(0).loss == 3);
    auto wrong = rldp::testing::blank_release();
    wrong.statistics.assign(5, 0);
    CHECK_THROWS_AS(tracker.add(wrong), rldp::error);
    auto unsound = rldp::testing::blank_release();
    unsound.unsound.emplace();
    unsound.unsound->quartiles = {{1, 2, 3}, {4, 5, 6}};
    unsound.unsound->loss = 0.75;
    unsound.unsound->units = 3;
    tracker.add(unsound);
    CHECK(tracker.last_loss() == 0.75);
    CHECK(tracker.medians() == std::vector<double>{2, 5});
    CHECK(tracker.observe(0).utility == -0.75);
    statistics_tracker copy(2, 16, 0.1, 3);
    copy.load(tracker.save());
    CHECK(copy.observe(0).loss == 0.75);
    for (double bad : {0.0, -1.0, std::nan("")}) {
        CHECK_THROWS_AS(statistics_tracker(2, bad, 0.1, 3), rldp::error);
        CHECK_THROWS_AS(statistics_tracker(2, 16, bad, 3), rldp::error);
    }
    CHECK_THROWS_AS(statistics_tracker(0, 16, 0.1, 3), rldp::error);
    CHECK_THROWS_AS(statistics_tracker(2, 16, 0.1, std::nan("")), rldp::error);
}
