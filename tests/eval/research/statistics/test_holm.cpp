#include "eval/research/statistics/paired.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/support/refusal.hpp"
#include "tests/support/simulated.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

bool near(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return std::abs(x - y) < 1e-12; });
}

}  // namespace

TEST_CASE("adjusted p-values are those of statsmodels") {
    // statsmodels 0.13.5, multipletests(method="holm").
    CHECK(near(holm({0.01, 0.04, 0.03, 0.005}), {0.03, 0.06, 0.06, 0.02}));
    CHECK(near(holm({0.2, 0.001, 0.6, 0.001, 0.04, 0.9, 0.012}), {0.6, 0.007, 1, 0.007, 0.16, 1, 0.06}));
    CHECK(near(holm({0.0625, 0.02, 0.5, 0.02, 1, 0.0107421875}), {0.1875, 0.1, 1, 0.1, 1, 0.064453125}));
}

TEST_CASE("one p-value is as it was, and of none there are none") {
    CHECK(holm({0.04}) == std::vector<double>{0.04});
    CHECK(holm({0}) == std::vector<double>{0});
    CHECK(holm({1, 1}) == std::vector<double>{1, 1});
    CHECK(holm({}).empty());
}

TEST_CASE("adjusting keeps the order, lowers nothing, ends at 1, and lies between no correction and Bonferroni's") {
    draws random(8);
    for (std::size_t family = 0; family < 300; ++family) {
        std::vector<double> ps(1 + family % 12);
        for (double& p : ps) p = std::pow(random.uniform(), 3);
        if (family % 3 == 0) ps.push_back(ps.front());
        const auto adjusted = holm(ps);
        REQUIRE(adjusted.size() == ps.size());
        std::vector<std::pair<double, double>> both;
        for (std::size_t i = 0; i < ps.size(); ++i) {
            CHECK(adjusted[i] >= ps[i]);
            CHECK(adjusted[i] <= std::min(1.0, static_cast<double>(ps.size()) * ps[i]));
            both.emplace_back(ps[i], adjusted[i]);
        }
        std::sort(both.begin(), both.end());
        CHECK(both.front().second == std::min(1.0, static_cast<double>(ps.size()) * both.front().first));
        for (std::size_t i = 1; i < both.size(); ++i) {
            CHECK(both[i].second >= both[i - 1].second);
            if (both[i].first == both[i - 1].first) CHECK(both[i].second == both[i - 1].second);
        }
    }
}

TEST_CASE("any false rejection among many is as rare as promised") {
    // Of ten tests seven are of nothing: at 5 % in 2000 families 100 may have a false rejection, 145 or more have a
    // probability below 1e-5. Three have an effect that is always found, which is where Holm gains on Bonferroni.
    draws random(9);
    int families_wrong = 0, families_wrong_unadjusted = 0;
    for (int family = 0; family < 2000; ++family) {
        std::vector<double> ps = {1e-9, 1e-9, 1e-9};
        for (int i = 0; i < 7; ++i) ps.push_back(random.uniform());
        const auto any = [](const std::vector<double>& of) {
            return std::any_of(of.begin() + 3, of.end(), [](double p) { return p <= 0.05; });
        };
        families_wrong += any(holm(ps));
        families_wrong_unadjusted += any(ps);
    }
    CHECK(families_wrong < 145);
    CHECK(families_wrong > 75);  // Bonferroni's would be 69 on average
    CHECK(families_wrong_unadjusted > 500);
}

TEST_CASE("what is no p-value is a bug of the caller") {
    for (const double wrong : {-0.01, 1.01, double{NAN}})
        CHECK(has(refusal([&] { holm({0.5, wrong}); }), "a bug in rldp, please report it: a p-value is"));
}
