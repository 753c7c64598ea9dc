#include "eval/research/statistics/paired.hpp"

#include <algorithm>
#include <cmath>

#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

/// Perplexities of eight seeds; the gains are 1.3, 0.6, −0.3, 1.7, 0.8, −0.1, 1.4 and 0.
const std::vector<double> theirs = {21.4, 22.9, 20.1, 24.6, 23.3, 19.8, 22.2, 21.0};
const std::vector<double> ours = {20.1, 22.3, 20.4, 22.9, 22.5, 19.9, 20.8, 21.0};

std::vector<double> negated(std::vector<double> values) {
    for (double& value : values) value = -value;
    return values;
}

paired_comparison with(double p, double mean_gain) {
    return {.pairs = 8,
            .mean_gain = mean_gain,
            .interval = {},
            .p = p,
            .wins = 0,
            .losses = 0,
            .ties = 8,
            .worst_gain = mean_gain};
}

}  // namespace

TEST_CASE("a comparison of eight seeds is what other engines say") {
    const auto seen = compare_pairs(ours, theirs, better::lower, 1);
    CHECK(seen.pairs == 8);
    CHECK(seen.mean_gain == Approx(0.675));
    CHECK(seen.wins == 5);
    CHECK(seen.losses == 2);
    CHECK(seen.ties == 1);
    CHECK(seen.worst_gain == Approx(-0.3));
    CHECK(seen.p == 16 / 256.0);  // scipy 1.10's permutation_test
    REQUIRE(seen.interval);       // scipy's bootstrap; a tenth of a standard error is 0.025
    CHECK(seen.interval->low == Approx(0.1875).margin(0.03));
    CHECK(seen.interval->high == Approx(1.1625).margin(0.03));
}

TEST_CASE("gains are above 0 where ours is better") {
    const auto lower = compare_pairs(ours, theirs, better::lower, 1);
    const auto higher = compare_pairs(negated(ours), negated(theirs), better::higher, 1);
    CHECK(higher.mean_gain == lower.mean_gain);
    CHECK(higher.interval->low == lower.interval->low);
    CHECK(higher.worst_gain == lower.worst_gain);
    CHECK(higher.wins == lower.wins);
    const auto turned = compare_pairs(theirs, ours, better::lower, 1);
    CHECK(turned.mean_gain == -lower.mean_gain);
    CHECK(turned.interval->low == Approx(-lower.interval->high).epsilon(1e-9));
    CHECK(turned.interval->high == Approx(-lower.interval->low).epsilon(1e-9));
    CHECK(turned.wins == 2);
    CHECK(turned.losses == 5);
    CHECK(turned.worst_gain == Approx(-1.7));
    CHECK(turned.p == lower.p);
}

TEST_CASE("values are paired by their seeds") {
    auto shuffled = theirs;
    std::rotate(shuffled.begin(), shuffled.begin() + 3, shuffled.end());
    const auto seen = compare_pairs(ours, theirs, better::lower, 1),
               mixed = compare_pairs(ours, shuffled, better::lower, 1);
    CHECK(mixed.mean_gain == Approx(seen.mean_gain));
    CHECK(mixed.p > 2 * seen.p);
    CHECK(mixed.worst_gain < 2 * seen.worst_gain);
}

TEST_CASE("few pairs have what can be said of them") {
    const auto one = compare_pairs({3}, {5}, better::lower, 1), two = compare_pairs({3, 3}, {5, 4}, better::lower, 1);
    CHECK(one.mean_gain == 2);
    CHECK(one.p == 1);
    CHECK_FALSE(one.interval);
    CHECK(two.mean_gain == 1.5);
    CHECK(two.p == 0.5);
    CHECK_FALSE(two.interval);
    const auto same = compare_pairs({1, 2, 3}, {1, 2, 3}, better::higher, 1);
    CHECK(same.ties == 3);
    CHECK(same.p == 1);
    CHECK(same.interval->low == 0);
    CHECK(same.interval->high == 0);
    CHECK(find_verdict(same, 1) == verdict::tie);
}

TEST_CASE("the verdict is by the adjusted p-value alone, and by who gains") {
    CHECK(find_verdict(with(0.01, 0.5), 0.01) == verdict::win);
    CHECK(find_verdict(with(0.01, 0.5), 0.05) == verdict::win);
    CHECK(find_verdict(with(0.01, 0.5), 0.0501) == verdict::tie);
    CHECK(find_verdict(with(0.01, -0.5), 0.03) == verdict::loss);
    CHECK(find_verdict(with(0.01, -0.5), 0.2) == verdict::tie);
}

TEST_CASE("comparisons that are none are refused, and a caller's mistakes are bugs") {
    const auto bug = "a bug in rldp, please report it: ";
    CHECK(refusal([] { compare_pairs({1, NAN}, {1, 2}, better::lower, 1); }) == "our value 1 is nan, no finite number");
    CHECK(refusal([] { compare_pairs({1}, {INFINITY}, better::lower, 1); }) ==
          "their value 0 is inf, no finite number");
    CHECK(refusal([] { compare_pairs({-1e308}, {1e308}, better::lower, 1); }) ==
          "difference 0 is inf, no finite number");
    CHECK(has(refusal([] {
                  compare_pairs({1, 2}, {1}, better::lower, 1);
              }),
              bug + std::string("2 values are compared")));
    CHECK(has(refusal([] { compare_pairs({}, {}, better::lower, 1); }), bug + std::string("a comparison without")));
    for (const double wrong : {0.009, 1.1, double{NAN}})
        CHECK(has(refusal([&] { find_verdict(with(0.01, 1), wrong); }),
                  "is no adjusted p-value of a comparison with p = 0.01"));
}
