#include "eval/audit/statistics/membership_inference.hpp"

#include <cmath>

#include "tests/support/refusal.hpp"
#include "tests/support/simulated.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

double log_normal(double x, double mean, double variance) {
    return -(x - mean) * (x - mean) / (2 * variance) - std::log(variance) / 2;
}

/// In: {4, 6}, {10, 12}, {}. Out: {1, 2, 6}, {0, 2, 4}, {1, 2, 3, 4, 5}.
std::vector<shadow_model> five_shadows() {
    return {{{4, 0, 1}, {true, false, false}},
            {{6, 2, 2}, {true, false, false}},
            {{1, 10, 3}, {false, true, false}},
            {{2, 12, 4}, {false, true, false}},
            {{6, 4, 5}, {false, false, false}}};
}

}  // namespace

TEST_CASE("the log odds of a mean loss are exact where p is near 0 or 1") {
    CHECK(log_odds(std::log(2)) == Approx(0).margin(1e-15));
    CHECK(log_odds(std::log(5)) == Approx(std::log(0.25)));
    CHECK(log_odds(-std::log(0.8)) == Approx(std::log(4)));
    CHECK(log_odds(1e-20) == Approx(20 * std::log(10)).epsilon(1e-14));
    CHECK(log_odds(800) == -800);
    CHECK(log_odds(40) + 40 == Approx(std::exp(-40)).margin(1e-14));
    for (const double wrong : {0.0, -1.0, double{INFINITY}, double{NAN}})
        CHECK(refusal([&] { log_odds(wrong); }).find("no finite number above 0") != std::string::npos);
}

TEST_CASE("online scores compare in and out, with medians, and variances shared by all examples") {
    const auto scores = online_scores({5, 1, 3}, five_shadows());
    // Squares about the means: in 2 + 2 with 1 + 1 degrees of freedom, out 14 + 8 + 10 with 2 + 2 + 4.
    REQUIRE(scores.size() == 3);
    CHECK(*scores[0] == Approx(log_normal(5, 5, 2) - log_normal(5, 2, 4)));  // the median of {1, 2, 6}, not the mean
    CHECK(*scores[1] == Approx(log_normal(1, 11, 2) - log_normal(1, 2, 4)));
    CHECK_FALSE(scores[2]);  // never in
}

TEST_CASE("offline scores are the distance to out alone in deviations") {
    const auto scores = offline_scores({5, 1, 3}, five_shadows());
    CHECK(*scores[0] == Approx((5 - 2) / 2.0));
    CHECK(*scores[1] == Approx((1 - 2) / 2.0));
    CHECK(*scores[2] == Approx(0).margin(1e-15));
}

TEST_CASE("with one reference model the offline score is the difference") {
    const shadow_model reference{{1, 2, 3}, {false, false, true}};
    const auto scores = offline_scores({5, 1, 3}, {reference});
    CHECK(scores[0] == 4.0);
    CHECK(scores[1] == -1.0);
    CHECK_FALSE(scores[2]);
    const auto halves = offline_scores({5, 1, 3}, {reference, {{0, 0, 1}, {true, true, false}}});
    CHECK(halves[0] == 4.0);
    CHECK(halves[2] == 2.0);
    CHECK_FALSE(online_scores({5, 1, 3}, {reference, {{0, 0, 1}, {true, true, false}}})[0]);  // no variance
}

TEST_CASE("examples without values, and values without a variance, have no score") {
    CHECK_FALSE(offline_scores({1}, {})[0]);
    CHECK_FALSE(online_scores({1}, {})[0]);
    const shadow_model in{{2}, {true}}, out{{1}, {false}};
    CHECK_FALSE(offline_scores({1}, {out, out})[0]);
    CHECK_FALSE(offline_scores({1, 1}, {{{2, 2}, {false, false}}, {{2, 2}, {false, true}}})[1]);
    CHECK_FALSE(online_scores({1}, {in, in, {{3}, {true}}, out, out})[0]);
    CHECK_FALSE(online_scores({1}, {in, in, out, {{3}, {false}}})[0]);
    CHECK(online_scores({1}, {in, {{3}, {true}}, out, {{3}, {false}}})[0]);
    CHECK(online_scores({}, {}).empty());
}

TEST_CASE("from 65 shadows on every example has its own variance") {
    // Out: ±1 and ±3 by turns; 32 or 33 of each.
    const auto scores = [](int shadows) {
        std::vector<shadow_model> all;
        for (int i = 0; i < shadows; ++i) {
            const double sign = i % 2 == 0 ? 1 : -1;
            all.push_back({{sign, 3 * sign}, {false, false}});
        }
        return offline_scores({2, 2}, all);
    };
    const double shared = std::sqrt((64 + 9 * 64) / (2 * 63.0));
    CHECK(*scores(64)[0] == Approx(2 / shared));
    CHECK(*scores(64)[1] == Approx(2 / shared));
    const double own = std::sqrt(66 / 65.0);
    CHECK(*scores(66)[0] == Approx(2 / own));
    CHECK(*scores(66)[1] == Approx(2 / (3 * own)));
    const double odd = std::sqrt((65 - 1 / 65.0) / 64);  // 33 of +1, so the median is 1
    CHECK(*scores(65)[0] == Approx((2 - 1) / odd));
}

TEST_CASE("where examples differ in difficulty, shadows find members that a threshold does not") {
    // φ = difficulty (deviation 3) + 1 for members + noise (deviation 1); the target trained on every other example.
    draws random(11);
    constexpr std::size_t examples = 1000, count = 16;
    std::vector<double> difficulty, target;
    for (std::size_t i = 0; i < examples; ++i) {
        difficulty.push_back(3 * random.normal());
        target.push_back(difficulty[i] + (i % 2 == 0 ? 1 : 0) + random.normal());
    }
    std::vector<shadow_model> shadows(count);
    for (auto& shadow : shadows)
        for (std::size_t i = 0; i < examples; ++i) {
            shadow.trained_on.push_back(random.coin(0.5));
            shadow.phi.push_back(difficulty[i] + (shadow.trained_on[i] ? 1 : 0) + random.normal());
        }
    const auto compute_auc = [](const auto& scores) {
        std::vector<double> members, others;
        for (std::size_t i = 0; i < scores.size(); ++i) (i % 2 == 0 ? members : others).push_back(scores[i]);
        return *auc(members, others);
    };
    const auto known = [](const std::vector<std::optional<double>>& scores) {
        std::vector<double> out;
        out.reserve(scores.size());
        for (const auto& one : scores) out.push_back(one.value());
        return out;
    };
    // Φ(1/√2) = 0.76 with known centres, Φ(1/√20) = 0.59 for the threshold; each to about 0.02.
    CHECK(compute_auc(target) < 0.64);
    CHECK(compute_auc(known(online_scores(target, shadows))) > 0.7);
    CHECK(compute_auc(known(offline_scores(target, shadows))) > 0.7);
}

TEST_CASE("shadows that do not match the target are refused") {
    const auto both = [](const std::vector<double>& target, const std::vector<shadow_model>& shadows) {
        auto line = refusal([&] { online_scores(target, shadows); });
        CHECK(refusal([&] { offline_scores(target, shadows); }) == line);
        return line;
    };
    CHECK(both({1, 2}, {{{1}, {true, true}}}) == "a shadow has 1 values and 2 flags for 2 examples");
    CHECK(both({1, 2}, {{{1, 2}, {true}}}) == "a shadow has 2 values and 1 flags for 2 examples");
    CHECK(both({1, NAN}, {}) == "target phi 1 is nan, no finite number");
    CHECK(both({1}, {{{INFINITY}, {true}}}) == "shadow phi 0 is inf, no finite number");
}
