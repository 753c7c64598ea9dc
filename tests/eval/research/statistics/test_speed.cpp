#include "eval/research/statistics/paired.hpp"

#include <cmath>

#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

const std::vector<curve_point> falling = {{0, 30}, {20, 25}, {40, 22}, {60, 24}, {80, 21}};

}  // namespace

TEST_CASE("the speed is the first position at least as good, as a share of the end") {
    const auto share = [](double target) { return share_to_target(falling, 80, target, better::lower); };
    CHECK(share(25.5) == 0.25);
    CHECK(share(25) == 0.25);
    CHECK(share(24.9) == 0.5);
    CHECK(share(24) == 0.5);  // worse again at 60, which does not matter
    CHECK(share(21) == 1.0);
    CHECK(share(30) == 0.0);
    CHECK_FALSE(share(20.9));
    CHECK(share_to_target(falling, 100, 21, better::lower) == 0.8);  // the run was to go on
}

TEST_CASE("where the higher is better, the target is reached from below") {
    const std::vector<curve_point> rising = {{1, 0.2}, {2, 0.6}, {4, 0.7}};
    CHECK(share_to_target(rising, 4, 0.1, better::higher) == 0.25);
    CHECK(share_to_target(rising, 4, 0.6, better::higher) == 0.5);
    CHECK(share_to_target(rising, 4, 0.61, better::higher) == 1.0);
    CHECK_FALSE(share_to_target(rising, 4, 0.71, better::higher));
}

TEST_CASE("what diverged, or was never evaluated, reaches nothing") {
    const std::vector<curve_point> lost = {{1, double{NAN}}, {2, -double{INFINITY}}, {3, double{INFINITY}}};
    CHECK_FALSE(share_to_target(lost, 3, 5, better::lower));
    CHECK_FALSE(share_to_target(lost, 3, 5, better::higher));
    CHECK_FALSE(share_to_target({}, 3, 5, better::lower));
    CHECK(share_to_target({{1, NAN}, {2, 4}}, 4, 5, better::lower) == 0.5);
}

TEST_CASE("over seeds a censored run counts as a whole one") {
    const auto some = speed_over({0.25, std::nullopt, 0.5, 0.25});
    CHECK(some.mean_share == 0.5);
    CHECK(some.runs == 4);
    CHECK(some.censored == 1);
    const auto at_the_end = speed_over({1.0, 0.5});
    CHECK(at_the_end.mean_share == 0.75);
    CHECK(at_the_end.censored == 0);
    CHECK(speed_over({std::nullopt}).mean_share == 1);
    CHECK(speed_over({std::nullopt}).censored == 1);
    CHECK(has(refusal([] { speed_over({}); }), "a bug in rldp, please report it: the speed of no run"));
}

TEST_CASE("curves that don't rise, and targets and ends that are none, are refused") {
    const auto line = [](const std::vector<curve_point>& curve, double end, double target) {
        return refusal([&] { share_to_target(curve, end, target, better::lower); });
    };
    CHECK(line({{1, 1}, {1, 1}}, 5, 1) == "position 1 of a curve is 1, not above the one before it");
    CHECK(line({{1, 1}, {3, 1}, {2, 9}}, 5, 1) == "position 2 of a curve is 2, not above the one before it");
    CHECK(line({{1, 1}, {6, 9}}, 5, 1) == "position 1 of a curve is 6, not in [0, 5]");
    CHECK(line({{-1, 9}}, 5, 1) == "position 0 of a curve is -1, not in [0, 5]");
    CHECK(line({{NAN, 9}}, 5, 1) == "position 0 of a curve is nan, not in [0, 5]");
    CHECK(line(falling, 80, NAN) == "the target of a curve is nan, no finite number");
    for (const double wrong : {0.0, -1.0, double{INFINITY}, double{NAN}})
        CHECK(has(line({}, wrong, 1), "not positive and finite"));
}
