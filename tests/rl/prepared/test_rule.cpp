#include "rl/prepared/environment.hpp"

#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "tests/catch.hpp"
#include "tests/rl/prepared/made_up.hpp"

using namespace rldp::rl;

namespace {

const known_plan usual_plan = {.steps = 100, .noise = -1, .adapters = 6, .bands = 1};

/// Of two adapters, after a block that had the score: so many had one by then.
policy_observation sight_of_score(double score, std::int64_t scores, double rate) {
    auto out = random_sight(2, 1);
    out.global[of_run::score] = score;
    out.global[of_run::scores] = count_feature(scores);
    out.global[of_run::rate] = rate;
    return out;
}

rate_line line_of(const std::vector<double>& point) {
    return schedule_at(point).settle(usual_plan);
}

}  // namespace

TEST_CASE("a rule adds to the last rate what a score says, and without a score nothing") {
    const rule how = {{0.5, 0.3, 0.1, 2}};
    CHECK(how(sight_of_score(1.2, 1, -0.7)).rate == Approx(-0.7 + 0.5 * (std::tanh(0.6) - 0.1)));
    CHECK(how(sight_of_score(-1.2, 1, -0.7)).rate == Approx(-0.7 - 0.5 * (std::tanh(0.6) + 0.1)));
    CHECK(how(sight_of_score(1.2, 4, 0)).rate == Approx(0.5 / (1 + 0.09 * 3) * (std::tanh(0.6) - 0.1)));
    CHECK(how(sight_of_score(1e9, 1, 0)).rate == Approx(0.45));  // a score beyond all measure counts as one
    auto seen = sight_of_score(1.2, 1, -0.7);
    seen.scored = false;
    CHECK(how(seen).rate == -0.7);
    CHECK(how(seen).rates == std::vector<double>(2));
    CHECK(rule{}(sight_of_score(3, 1, 0.4)).rate == 0.4);
}

TEST_CASE("a rule is a sum over all scores, the later ones of less weight as it says") {
    rule how = {{0.5, 0, 0, 1}};
    const double once = how(sight_of_score(0.8, 1, 0)).rate;
    CHECK(how(sight_of_score(0.8, 2, once)).rate == Approx(2 * once));
    how.numbers[rule::settle] = 0.5;
    for (std::int64_t before = 0; before < 40; ++before)
        CHECK(how(sight_of_score(0.8, before + 1, 0)).rate == Approx(once / (1 + 0.25 * static_cast<double>(before))));
    how.numbers[rule::settle] = -0.5;
    CHECK(how(sight_of_score(0.8, 9, 0)).rate == Approx(once / 3));
}

TEST_CASE("a rule keeps within its limits and steers all adapters alike") {
    const rule how = {{10, 0, 0, 1}};
    CHECK(how(sight_of_score(9, 1, 0)).rate == rate_limit);
    CHECK(how(sight_of_score(-9, 1, 0)).rate == -rate_limit);
    auto turned = sight_of_score(0.1, 1, 0);
    std::swap(turned.adapters[0], turned.adapters[1]);
    CHECK(how(turned).rate == how(sight_of_score(0.1, 1, 0)).rate);
    CHECK(how(turned).rates == std::vector<double>(2));
}

TEST_CASE("a search's point is a rule or a schedule, and back") {
    const auto known = rule_at(std::vector{std::log(0.5), 0.3, 0.5, std::log(1.5)});
    CHECK(known.numbers[rule::gain] == Approx(0.5));
    CHECK(known.numbers[rule::settle] == 0.3);
    CHECK(known.numbers[rule::aim] == Approx(0.1));
    CHECK(known.numbers[rule::softness] == Approx(1.5));
    splitmix random(4);
    for (int i = 0; i < 20; ++i) {
        std::vector<double> of_rule(rule::count), of_schedule(schedule::count);
        for (double& number : of_rule) number = random.uniform(-2, 2);
        for (double& number : of_schedule) number = random.uniform(-2, 2);
        const auto rule_back = to_point(rule_at(of_rule)), schedule_back = to_point(schedule_at(of_schedule));
        REQUIRE(rule_back.size() == of_rule.size());
        REQUIRE(schedule_back.size() == of_schedule.size());
        for (std::size_t k = 0; k < of_rule.size(); ++k) CHECK(rule_back[k] == Approx(of_rule[k]));
        for (std::size_t k = 0; k < of_schedule.size(); ++k) CHECK(schedule_back[k] == Approx(of_schedule[k]));
    }
    CHECK(std::isfinite(to_point(rule{})[rule::gain]));
    CHECK_THROWS_AS(rule_at(std::vector<double>(3)), rldp::error);
    CHECK_THROWS_AS(schedule_at(std::vector<double>(3)), rldp::error);
}

TEST_CASE("no point of a search is beyond what a policy's file may hold") {
    for (const double far : {-50.0, 50.0}) {
        const auto how = rule_at(std::vector<double>(rule::count, far));
        const auto fixed = schedule_at(std::vector<double>(schedule::count, far));
        for (const double number : how.numbers) CHECK(std::abs(number) <= 10);
        for (const double number : fixed.numbers) CHECK(std::abs(number) <= 10);
        CHECK(how.numbers[rule::softness] > 0);
        CHECK(std::abs(fixed.numbers[schedule::tilt]) <= 1);
        CHECK((fixed.numbers[schedule::tail] > 0 && fixed.numbers[schedule::tail] <= 1));
    }
}

TEST_CASE("zeros are the schedule that a task was tuned to, whatever the plan") {
    for (const auto& plan : {usual_plan, known_plan{40, 2, 1, 1}, known_plan{400, -5, 60, 16}}) {
        const auto line = schedule_at(std::vector<double>(schedule::count)).settle(plan);
        CHECK(line.log_rate == 0);
        CHECK(line.tilt == 0);
        CHECK(line.tail == 0.25);
    }
}

TEST_CASE("a schedule settles by what is known of a plan, number by number") {
    const schedule fixed = {{0.1, 0.2, -0.3, 0.4, 0.5, 0.6, 0.7}};
    const auto usual = fixed.settle(usual_plan);
    CHECK(usual.log_rate == Approx(0.1));
    CHECK(usual.tilt == 0.6);
    CHECK(usual.tail == 0.7);
    const auto changed = [&](const known_plan& plan) { return fixed.settle(plan).log_rate - usual.log_rate; };
    CHECK(changed({100, 1, 6, 1}) == Approx(0.2 * 2));
    CHECK(changed({400, -1, 6, 1}) == Approx(-0.3 * std::log(4)));
    CHECK(changed({100, -1, 24, 1}) == Approx(0.4 * std::log(4)));
    CHECK(changed({100, -1, 6, 4}) == Approx(0.5 * std::log(4)));
    CHECK(changed({400, 1, 24, 4}) == Approx(0.4 + 0.6 * std::log(4)));
    CHECK(fixed.settle({100, 100, 6, 1}).log_rate == rate_limit);
    CHECK(fixed.settle({100, -100, 6, 1}).log_rate == -rate_limit);
}

TEST_CASE("what is known of a plan's noise is its size beside a batch") {
    CHECK(compute_noise_level(0.5, 400, 20) == Approx(std::log(0.5)));
    CHECK(compute_noise_level(0.5, 1600, 20) == Approx(0));
    CHECK(std::isfinite(compute_noise_level(0, 400, 20)));
}

TEST_CASE("no straight line of rates is out of a search's reach, and its mean stays") {
    const auto at = [](double tilt) { return line_of({0.3, 0, 0, 0, 0, tilt, 0}); };
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
    const auto how = timetable_at(std::vector<double>{0, 0.9, 0, 0, 0, 0, 0, 0, 0, 0.1, 9});
    CHECK(how.at(0.05) == Approx(0.45));
    CHECK(how.at(0.1) == Approx(0.9));
    CHECK(how.at(0.9) == Approx(0.1));
    CHECK(how.at(-1) == how.at(0));
    CHECK(how.at(2) == how.at(1));
    for (const std::uint64_t number : {3, 4, 5}) {
        auto seen = random_sight(2, number);
        seen.global[of_run::time] = 0.05;
        CHECK(how(seen).rate == Approx(0.45));
        CHECK(how(seen).rates == std::vector<double>(2));
        seen.global[of_run::time] = 1;
        CHECK(how(seen).rate == rate_limit);
    }
    CHECK_THROWS_AS(timetable_at(std::vector<double>(10)), rldp::error);
}

TEST_CASE("a timetable of what was set holds each until the next, and a mean is of each time") {
    const std::vector<std::pair<double, double>> set = {{0, 0}, {0.25, 1}, {0.5, -1}};
    const auto first = to_timetable(set);
    CHECK(first.log_rates == std::array<double, 11>{0, 0, 0, 1, 1, -1, -1, -1, -1, -1, -1});
    const std::vector<std::pair<double, double>> always = {{0, 2}};
    const auto second = to_timetable(always);
    CHECK(second.log_rates.back() == 2);
    const auto both = mean_of(std::vector{first, second});
    for (std::size_t k = 0; k < both.log_rates.size(); ++k)
        CHECK(both.log_rates[k] == Approx((first.log_rates[k] + 2) / 2));
    CHECK_THROWS_AS(to_timetable({}), rldp::error);
    CHECK_THROWS_AS(mean_of({}), rldp::error);
}
