#include "rl/prepared/environment.hpp"

#include <cmath>

#include "base/error.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up.hpp"

using namespace rldp::rl;

TEST_CASE("a rule of zeros leaves the rates as they are, one that forgets brings them back") {
    auto seen = random_sight(3, 1);
    seen.global[of_run::rate] = -0.7;
    for (std::size_t i = 0; i < 3; ++i) seen.adapters[i][of_adapter::rate] = 0.1 * static_cast<double>(i);
    const auto chosen = rule{}(seen);
    CHECK(chosen.rate == -0.7);
    CHECK(chosen.rates == std::vector<double>{0, 0.1, 0.2});
    CHECK(chosen.shares == std::vector<double>(3));
    rule how;
    how.numbers[rule::forget] = std::sqrt(std::log(2.0));
    CHECK(how(seen).rate == Approx(-0.35));
    CHECK(how(seen).rates[2] == Approx(0.1));
    how.numbers[rule::forget] = -5;
    CHECK(how(seen).rate == Approx(0).margin(1e-10));
}

TEST_CASE("a search's point is a rule and back") {
    constexpr std::array free = {rule::along, rule::time};
    const auto how = rule_at(std::vector{0.3, -0.2}, free);
    CHECK(how.numbers[rule::along] == Approx(3));
    CHECK(how.numbers[rule::time] == -0.2);
    CHECK(how.numbers[rule::bias] == 0);
    const auto back = to_point(how, free);
    REQUIRE(back.size() == 2);
    CHECK(back[0] == Approx(0.3));
    CHECK(back[1] == Approx(-0.2));
    CHECK_THROWS_AS(rule_at(std::vector<double>(3), free), rldp::error);
}

TEST_CASE("a rule's numbers act on what they name") {
    auto seen = random_sight(2, 1);
    seen.adapters[0][of_adapter::signal] = 0.6;
    seen.adapters[1][of_adapter::signal] = 0.2;
    seen.global[of_run::rate] = seen.adapters[0][of_adapter::rate] = seen.adapters[1][of_adapter::rate] = 0;
    rule how;
    how.numbers[rule::signal] = 0.5;
    CHECK(how(seen).rate == Approx(0.2));
    how.numbers[rule::share_of_signal] = 2;
    CHECK(how(seen).shares[0] == Approx(0.4));
    CHECK(how(seen).shares[1] == Approx(-0.4));
    how.numbers[rule::own_signal] = 0.1;
    CHECK(how(seen).rates[0] == Approx(0.02));
    how = {};
    seen.adapters[0][of_adapter::along] = 0.3;
    seen.adapters[1][of_adapter::along] = 0.1;
    seen.global[of_run::rate] = 0.7;
    how.numbers[rule::along] = 4;
    CHECK(how(seen).rate == Approx(0.7 + 0.8));
    how.numbers[rule::own_along] = 2;
    CHECK(how(seen).rates[0] == Approx(0.2));
    CHECK(how(seen).rates[1] == Approx(-0.2));
}

TEST_CASE("a rule stays within the limits and treats all adapters alike") {
    rule how;
    for (double& number : how.numbers) number = 30;
    const auto seen = random_sight(4, 2);
    const auto chosen = how(seen);
    CHECK(std::abs(chosen.rate) <= rate_limit);
    for (const double rate : chosen.rates) CHECK(std::abs(rate) <= own_rate_limit);
    for (const double share : chosen.shares) CHECK(std::abs(share) <= share_limit);
    for (double& number : how.numbers) number = 0.1;
    auto turned = seen;
    std::swap(turned.adapters[0], turned.adapters[3]);
    CHECK(how(turned).rates[0] == Approx(how(seen).rates[3]));
    CHECK(how(turned).shares[3] == Approx(how(seen).shares[0]));
}

TEST_CASE("three zeros are the schedule that a task was tuned to") {
    const auto fixed = schedule_at(std::vector<double>{0, 0, 0});
    CHECK(fixed.log_rate == 0);
    CHECK(fixed.tilt == 0);
    CHECK(fixed.tail == 0.25);
    CHECK_THROWS_AS(schedule_at(std::vector<double>{0}), rldp::error);
}

TEST_CASE("no straight line of rates is out of a search's reach, and its mean stays") {
    const auto at = [](double tilt) { return schedule_at(std::vector<double>{0.3, tilt, 0}); };
    CHECK(at(50).tilt == 1);
    CHECK(at(-50).tilt == -1);
    CHECK(at(0.5).tilt == Approx(std::tanh(0.5)));
    CHECK(at(50).log_rate == 0.3);
    for (const double tilt : {-50.0, -0.5, 0.0, 0.5, 50.0}) {
        const auto rates = make_rate_schedule(at(tilt), 0.01, 400);
        double mean = 0;
        for (std::int64_t step = 21; step <= 400; ++step) mean += rates.rate(step) / 380;  // behind the warm-up
        const double asked = 0.01 * std::exp(0.3);
        CAPTURE(tilt);
        CHECK(mean == Approx(asked).epsilon(0.01));
        CHECK(rates.rate(21) == Approx(asked * (1 - std::tanh(tilt))).margin(1e-9));
        CHECK(rates.rate(400) == Approx(asked * (1 + std::tanh(tilt))).margin(0.01 * asked));
    }
}

TEST_CASE("a timetable goes by the clock alone, in straight lines") {
    auto how = open_loop_schedule_at(std::vector<double>{0, 0.9, 0, 0, 0, 0, 0, 0, 0, 0.1, 5});
    auto seen = random_sight(2, 3);
    const auto rate_at = [&](double time) {
        seen.global[of_run::time] = time;
        return how(seen).rate;
    };
    CHECK(rate_at(0.05) == Approx(0.45));
    CHECK(rate_at(0.1) == Approx(0.9));
    CHECK(rate_at(0.9) == Approx(0.1));
    CHECK(rate_at(1) == rate_limit);
    CHECK(how(seen).shares == std::vector<double>(2));
    CHECK_THROWS_AS(open_loop_schedule_at(std::vector<double>(10)), rldp::error);
}
