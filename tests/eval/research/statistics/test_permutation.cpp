#include "eval/research/statistics/paired.hpp"

#include <algorithm>
#include <cmath>

#include "tests/eval/research/statistics/samples.hpp"
#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

std::vector<double> times(double factor, std::vector<double> values) {
    for (double& value : values) value *= factor;
    return values;
}

}  // namespace

TEST_CASE("p counts the patterns that are as far out as the observed one") {
    // Fisher counts 863 of the 32768 patterns at or beyond Darwin's sum of 314 on one side.
    CHECK(compute_p(darwins_maize) == 2 * 863 / 32768.0);
    // Counted with rational numbers in Python; scipy 1.10's permutation_test(permutation_type="samples") agrees.
    CHECK(compute_p({0.31, 0.12, 0.08, -0.05, 0.22, 0.17}) == 4 / 64.0);
    CHECK(compute_p({-0.42, 0.13, -0.77, -0.25, 0.31, -0.58, -0.09, -0.66}) == 22 / 256.0);
    CHECK(compute_p(tenths(20)) == 183608 / 1048576.0);
    CHECK(compute_p({1, 2, 3}) == 2 / 8.0);
}

TEST_CASE("patterns equal to the observed one count, however their sums are rounded") {
    std::vector<double> tied = {0.1, -0.2, 0.3, 0, 0.3, -0.1, 0, 0.2};
    std::sort(tied.begin(), tied.end());
    do {
        REQUIRE(compute_p(tied) == 96 / 256.0);  // counted as above
    } while (std::next_permutation(tied.begin(), tied.end()));
    CHECK(compute_p({0.1, 0.2, -0.3}) == 1);
    CHECK(compute_p({0.3, 0.1 + 0.2, 0.3, -0.3, 0.6}) == compute_p({1, 1, 1, -1, 2}));
    CHECK(compute_p({1, 1e-6, -1e-6, 1e-6}) == 0.5);  // but differences far below the others are told apart
    CHECK(compute_p({1, 1e-6, 1e-6, 1e-6}) == 0.125);
}

TEST_CASE("p does not depend on the sign or the unit of the differences, nor on the seed") {
    draws random(3);
    for (int sample = 0; sample < 50; ++sample) {
        const auto differences = normals(random, 9, 0.4);
        const double p = compute_p(differences);
        for (const double factor : {-1.0, 0.1, 3.0, -1e-3, 1e300, 1e-290})
            CHECK(compute_p(times(factor, differences)) == p);
        CHECK(paired_permutation(differences, 99) == p);
    }
    CHECK(compute_p({1e308, 1e308, 1e308, -1e308, 1e308}) == compute_p({1, 1, 1, -1, 1}));
}

TEST_CASE("p is a multiple of 1/2^n, and of all signs alike it is the smallest there is") {
    draws random(4);
    for (int n = 1; n <= 12; ++n) {
        const auto differences = normals(random, n, 0);
        auto positive = differences;
        for (double& one : positive) one = std::abs(one);
        const double patterns = std::exp2(n), count = compute_p(differences) * patterns;
        CHECK(count == std::floor(count));
        CHECK(count >= 2);
        CHECK(count <= patterns);
        CHECK(compute_p(positive) == 2 / patterns);
    }
}

TEST_CASE("beyond 20 differences p is estimated from drawn patterns") {
    // Counted with rational numbers in Python; five deviations of the estimate.
    CHECK(compute_p(tenths(21)) == Approx(0.10696792602539062).margin(0.005));
    CHECK(compute_p(tenths(24)) == Approx(0.10256600379943848).margin(0.005));
    auto seventy = tenths(70);
    for (double& one : seventy) one -= 0.08;
    CHECK(compute_p(seventy) == Approx(0.055538888700078455).margin(0.004));
    CHECK(compute_p(times(-1e300, seventy)) == Approx(0.055538888700078455).margin(0.004));
    std::vector<double> last_three(67, 0.0);  // drawn signs come in words of 64
    for (std::size_t i = 0; i < 3; ++i) last_three[64 + i] = 1 + static_cast<double>(i);
    CHECK(compute_p(last_three) == Approx(0.25).margin(0.007));
    CHECK(compute_p(seventy) == compute_p(seventy));
    CHECK(paired_permutation(seventy, 2) != compute_p(seventy));
    CHECK(compute_p(std::vector<double>(60, 0.1)) == 1 / 100'000.0);  // never 0
    CHECK(compute_p(std::vector<double>(60, 0.0)) == 1);
}

TEST_CASE("of no difference, one, or zeros p is 1") {
    CHECK(compute_p({}) == 1);
    CHECK(compute_p({-3.5}) == 1);
    CHECK(compute_p({0, 0, 0}) == 1);
    CHECK(compute_p({0, 0, 0, 1, 2, 3}) == 0.25);  // zeros tell nothing
}

TEST_CASE("differences that are no numbers are refused") {
    CHECK(refusal([] { compute_p({1, NAN}); }) == "difference 1 is nan, no finite number");
    CHECK(refusal([] { compute_p({-INFINITY}); }) == "difference 0 is -inf, no finite number");
}

TEST_CASE("signed ranks are what scipy's are, and one huge difference is the largest and no more") {
    // scipy 1.18, wilcoxon(mode="exact"); the fourth, which it has no exact value for, by enumeration in Python.
    CHECK(wilcoxon({0.31, 0.12, 0.08, -0.05, 0.22, 0.17}, 1) == 0.0625);
    CHECK(wilcoxon({-0.42, 0.13, -0.77, -0.25, 0.31, -0.58, -0.09, -0.66}, 1) == 0.109375);
    const std::vector<double> twelve = {3, -1, 4, -1.5, 9, -2.6, 5.3, 5.8, 9.7, -9.3, 2.38, 4.6};
    CHECK(wilcoxon(twelve, 1) == 0.10986328125);
    CHECK(wilcoxon({1, 2, 2, -2, 0, 3, 3, -4, 5.5, 6, 7}, 1) == 84 / 1024.0);
    auto huge = twelve;
    huge[8] = 1e12;
    CHECK(wilcoxon(huge, 1) == wilcoxon(twelve, 1));
    CHECK(wilcoxon({}, 1) == 1);
    CHECK(wilcoxon({0, 0}, 1) == 1);
}
