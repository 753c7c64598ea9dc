#include "eval/research/statistics/paired.hpp"

#include <algorithm>
#include <cmath>

#include "tests/eval/research/statistics/samples.hpp"
#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

const std::vector<double> even = {0.31, 0.12, 0.08, -0.05, 0.22, 0.17, 0.4, 0.02};
const std::vector<double> skewed = {0.05, 0.11, 0.02, 0.38, 1.9, 0.07, 0.24, 0.61, 0.16, 3.2};

/// Mean ends over 20 seeds: what is left of the resampling's own deviation is about 0.01 standard errors.
confidence_interval averaged(const std::vector<double>& differences) {
    confidence_interval out{0, 0};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto one = *bootstrap_interval(differences, seed);
        out.low += one.low / 20, out.high += one.high / 20;
    }
    return out;
}

/// How many intervals of `samples` normal samples of n have 0, their law's mean, in them, below them, above them.
struct coverage {
    int inside = 0, below = 0, above = 0;
};
coverage covered(int samples, int n) {
    draws random(10);
    coverage out;
    for (int sample = 0; sample < samples; ++sample) {
        const auto one = *bootstrap_interval(normals(random, n, 0), static_cast<std::uint64_t>(sample));
        ++(one.low > 0 ? out.below : one.high < 0 ? out.above : out.inside);
    }
    return out;
}

}  // namespace

TEST_CASE("the interval is scipy's") {
    // scipy 1.10, bootstrap(method="BCa"), three million resamples; all multisets of the differences with their
    // weights, enumerated in Python, give the same. Margins are 0.04 standard errors.
    const auto of_even = averaged(even), of_skewed = averaged(skewed), of_maize = averaged(darwins_maize);
    CHECK(of_even.low == Approx(0.0685).margin(0.002));
    CHECK(of_even.high == Approx(0.2620).margin(0.002));
    CHECK(of_skewed.low == Approx(0.218).margin(0.0125));
    CHECK(of_skewed.high == Approx(1.620).margin(0.0125));
    CHECK(of_maize.low == Approx(-1.62).margin(0.38));
    CHECK(of_maize.high == Approx(36.33).margin(0.38));
}

TEST_CASE("of a few whole numbers every seed has the ends of all resamples") {
    // Enumerated as above: ends that have at least 1.3 % of the resamples between them and a neighbouring mean.
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto low = [&](const std::vector<double>& differences) {
            return bootstrap_interval(differences, seed)->low;
        };
        CHECK(low({0, 0, 1, 1, 2, 5}) == Approx(3 / 6.0));
        CHECK(low({0, 0, 1, 1, 2, 4}) == Approx(3 / 6.0));
        CHECK(low({0, 0, 0, 1, 2, 6}) == Approx(2 / 6.0));
        CHECK(low({0, 0, 0, 0, 1, 2, 6}) == Approx(2 / 7.0));
        CHECK(low({0, 1, 1, 7}) == Approx(2 / 4.0));
        CHECK(low({-1, -2, -4}) == Approx(-12 / 3.0));
    }
}

TEST_CASE("resamples equal to the observed mean are told, however their sums are rounded") {
    // Eighths have no rounding, tenths of them do.
    const std::vector<double> whole = {0, 0, 1, 1, 2, 5, -1, 3};
    auto tenth = whole;
    for (double& one : tenth) one *= 0.1;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto exact = *bootstrap_interval(whole, seed), rounded = *bootstrap_interval(tenth, seed);
        CHECK(rounded.low == Approx(0.1 * exact.low).epsilon(1e-9));
        CHECK(rounded.high == Approx(0.1 * exact.high).epsilon(1e-9));
    }
}

TEST_CASE("the same seed gives the same interval, another one nearly the same") {
    const auto one = *bootstrap_interval(skewed, 1), again = *bootstrap_interval(skewed, 1);
    const auto other = *bootstrap_interval(skewed, 2);
    CHECK(one.low == again.low);
    CHECK(one.high == again.high);
    CHECK(one.high != other.high);
    CHECK(one.low == Approx(other.low).margin(0.05));
    CHECK(one.high == Approx(other.high).margin(0.1));
}

TEST_CASE("the interval moves, stretches and mirrors with the differences, tied ones too") {
    for (const auto& differences : {skewed, {0, 0, 1, 1, 2, 5, 0, 1}})
        for (const double factor : {-3.0, 1e-100, 1e300}) {
            auto changed = differences;
            for (double& one : changed) one = factor * (one + 2);
            const auto ends = *bootstrap_interval(differences, 3), moved = *bootstrap_interval(changed, 3);
            CHECK(std::min(moved.low / factor, moved.high / factor) == Approx(ends.low + 2).epsilon(1e-9));
            CHECK(std::max(moved.low / factor, moved.high / factor) == Approx(ends.high + 2).epsilon(1e-9));
            CHECK(moved.low < moved.high);
        }
}

TEST_CASE("the interval covers the mean about as often as it says, and few differences less") {
    const auto forty = covered(500, 40), five = covered(1000, 5);
    CHECK(forty.inside > 0.915 * 500);  // four deviations from 0.945
    CHECK(forty.inside < 0.975 * 500);
    CHECK(five.inside > 0.80 * 1000);  // as its header says
    CHECK(five.inside < 0.88 * 1000);
    CHECK(std::abs(five.below - five.above) < 50);
}

TEST_CASE("differences that are all equal are an interval without width") {
    const auto ends = *bootstrap_interval({0.1, 0.1, 0.1}, 1);
    CHECK(ends.low == 0.1);
    CHECK(ends.high == 0.1);
    for (int i = 0; i < 30; ++i) {  // in the last digit only, which may be lost on the way
        const double one = 0.1 + 0.013 * i, next = std::nextafter(one, 1);
        const auto close = *bootstrap_interval({one, next, one}, 1);
        CHECK(close.low <= close.high);
        CHECK(close.low == Approx(one).epsilon(1e-15));
        CHECK(close.high == Approx(one).epsilon(1e-15));
    }
}

TEST_CASE("fewer than three differences have no interval") {
    CHECK_FALSE(bootstrap_interval({}, 1));
    CHECK_FALSE(bootstrap_interval({1}, 1));
    CHECK_FALSE(bootstrap_interval({1, 2}, 1));
    CHECK(bootstrap_interval({1, 2, 3}, 1));
}

TEST_CASE("an interval of what is no number is refused") {
    CHECK(refusal([] { bootstrap_interval({1, 2, NAN}, 1); }) == "difference 2 is nan, no finite number");
    CHECK(refusal([] { bootstrap_interval({INFINITY}, 1); }) == "difference 0 is inf, no finite number");
}
