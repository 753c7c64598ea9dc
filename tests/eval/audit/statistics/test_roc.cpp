#include "eval/audit/statistics/membership_inference.hpp"

#include <cmath>
#include <utility>

#include "tests/support/refusal.hpp"
#include "tests/support/simulated.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

TEST_CASE("the AUC counts every pair, an equal one by half") {
    CHECK(auc({3, 2}, {1, 0}) == 1.0);
    CHECK(auc({0, 1}, {2, 3}) == 0.0);
    CHECK(auc({1, 1, 1}, {1, 1}) == 0.5);
    CHECK(auc({1, 2, 2}, {2, 0}) == (1 + 1.5 + 1.5) / 6);
    CHECK(auc({-1}, {-2}) == 1.0);
}

TEST_CASE("the AUC of many tied scores is the count over all pairs") {
    draws random(1);
    std::vector<double> members, others;
    for (int i = 0; i < 300; ++i) members.push_back(std::floor(10 * random.uniform()) + 1);
    for (int i = 0; i < 200; ++i) others.push_back(std::floor(10 * random.uniform()));
    double won = 0;
    for (const double a : members)
        for (const double b : others) won += a > b ? 1 : a == b ? 0.5 : 0;
    CHECK(auc(members, others) == won / (300 * 200));
}

TEST_CASE("an AUC's interval is DeLong's, and covers the truth about as often as it says") {
    // Members win 1 and ½ of the pairs, others are beaten in ½ and all: each side's variance of the mean is 1/16.
    const auto few = measure_auc({3, 1}, {2, 0});
    REQUIRE(few);
    CHECK(few->auc == 0.75);
    CHECK(few->low == Approx(0.75 - 1.959964 * std::sqrt(0.125)));
    CHECK(few->high == 1);
    CHECK(measure_auc({2, 2}, {1, 1})->low == 1);
    CHECK(measure_auc({1, 1}, {1, 1})->high == 0.5);
    CHECK_FALSE(measure_auc({1}, {1, 2}));
    draws random(5);
    int missed = 0;
    for (int trial = 0; trial < 1000; ++trial) {
        std::vector<double> members, others;
        for (int i = 0; i < 60; ++i) members.push_back(std::max(random.uniform(), random.uniform()));
        for (int i = 0; i < 90; ++i) others.push_back(random.uniform());
        const auto found = measure_auc(members, others);
        missed += found->low > 2.0 / 3 || found->high < 2.0 / 3 ? 1 : 0;  // the larger of two is above a third one
    }
    CHECK(missed > 20);
    CHECK(missed < 90);
}

TEST_CASE("the ROC curve has a point for every distinct score, from none to all") {
    const auto curve = roc_curve({3, 2, 2, 0}, {2, 1});
    const std::vector<std::pair<double, double>> expected = {{0, 0}, {0, 0.25}, {0.5, 0.75}, {1, 0.75}, {1, 1}};
    REQUIRE(curve.size() == expected.size());
    for (std::size_t i = 0; i < curve.size(); ++i) {
        CHECK(curve[i].false_positives == expected[i].first);
        CHECK(curve[i].true_positives == expected[i].second);
    }
}

TEST_CASE("true positives are counted at the lowest threshold that the false positives allow") {
    const std::vector<double> members = {9, 8, 5, 5, 3, 1}, others = {7, 5, 4, 2};
    const auto count = [&](double rate) { return true_positives_at(rate, members, others)->count; };
    CHECK(count(0) == 2);
    CHECK(count(0.24) == 2);
    CHECK(count(0.25) == 2);  // at 7; the score below is tied with members and has two false positives
    CHECK(count(0.5) == 4);
    CHECK(count(0.99) == 5);
    CHECK(count(1) == 6);
    CHECK(true_positives_at(0.5, members, others)->total == 6);
    CHECK(true_positives_at(0, {1}, {2})->count == 0);
    std::vector<double> thousand(1000);
    for (std::size_t i = 0; i < 1000; ++i) thousand[i] = static_cast<double>(i);
    CHECK(true_positives_at(0.001, {999.5, 998.5, 997.5}, thousand)->count == 2);  // 1 in 1000 is 0.001, not above
}

TEST_CASE("proportions have the interval of Clopper and Pearson") {
    // Roots of the regularised incomplete beta function with 30 digits (mpmath).
    const auto half = compute_proportion(5, 10), few = compute_proportion(3, 50), none = compute_proportion(0, 20);
    CHECK(half.rate() == 0.5);
    CHECK(half.low == Approx(0.187086028447398).epsilon(1e-12));
    CHECK(half.high == Approx(0.812913971552602).epsilon(1e-12));
    CHECK(few.low == Approx(0.0125485878353341).epsilon(1e-12));
    CHECK(few.high == Approx(0.165481946603773).epsilon(1e-12));
    CHECK(none.low == 0);
    CHECK(none.high == Approx(0.168433470983085).epsilon(1e-12));
    CHECK(compute_proportion(20, 20).high == 1);
    CHECK(compute_proportion(20, 20).low == Approx(1 - none.high).epsilon(1e-12));
    const auto at = *true_positives_at(0, {3, 3, 3, 3, 3, 1, 1, 1, 1, 1}, {2});
    CHECK(at.low == half.low);
    CHECK(at.high == half.high);
}

TEST_CASE("without one of the sides there is no AUC, curve or rate") {
    const std::vector<double> some = {1, 2}, none;
    CHECK_FALSE(auc(some, none));
    CHECK_FALSE(auc(none, some));
    CHECK(roc_curve(some, none).empty());
    CHECK(roc_curve(none, some).empty());
    CHECK_FALSE(true_positives_at(0.1, some, none));
    CHECK_FALSE(true_positives_at(0.1, none, some));
}

TEST_CASE("scores that are no numbers and rates that are none are refused") {
    CHECK(refusal([] { auc({1, NAN}, {1}); }) == "member score 1 is nan, no finite number");
    CHECK(refusal([] { roc_curve({1}, {-INFINITY}); }) == "non-member score 0 is -inf, no finite number");
    CHECK(refusal([] { true_positives_at(0.1, {INFINITY}, {}); }) == "member score 0 is inf, no finite number");
    for (const double wrong : {-0.1, 1.1, double{NAN}})
        CHECK(refusal([&] { true_positives_at(wrong, {1}, {1}); }).find("is outside of 0 to 1") != std::string::npos);
    CHECK(refusal([] { compute_proportion(0, 0); }) == "0 of 0 is no proportion");
    CHECK(refusal([] { compute_proportion(3, 2); }) == "3 of 2 is no proportion");
}
