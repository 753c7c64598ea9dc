// fixed and published, and what every policy refuses.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "privacy/spending/policy.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::privacy;

namespace {
using kind = rldp::policy_kind;
constexpr kind sound_kinds[] = {kind::fixed, kind::deck, kind::filter};
constexpr kind all_kinds[] = {kind::fixed, kind::deck, kind::filter, kind::published};

spending_plan usual() {
    return {2, 1e-5, 1e-3, 1000, 100, "pld", 8, 4};
}
}  // namespace

TEST_CASE("fixed grants z_0 for every planned step and nothing after") {
    const spending_plan p = usual();
    const auto policy = make_policy(kind::fixed, p);
    const double z = policy->initial_noise_multiplier();
    const phase all{z, p.sample_rate, p.steps};
    CHECK(policy->epsilon_guaranteed() <= p.epsilon_budget);
    CHECK(make_accountant("pld")->epsilon({&all, 1}, p.delta) == Approx(policy->epsilon_guaranteed()).epsilon(1e-6));
    for (std::int64_t step = 1; step <= p.steps; ++step) {
        const auto granted = policy->next(step, std::nan(""));  // heeds no request
        REQUIRE(granted);
        CHECK(granted->noise_multiplier == z);
        CHECK_FALSE(granted->card);
    }
    CHECK_FALSE(policy->next(p.steps + 1, 1));
    CHECK_THROWS_AS(policy->next(p.steps, 1), rldp::error);
    CHECK_THROWS_AS(make_policy(kind::fixed, p)->next(0, 1), rldp::error);
    CHECK_THROWS_AS(make_policy(kind::fixed, p)->next(-5, 1), rldp::error);
    const auto resumed = make_policy(kind::fixed, p);
    resumed->replay(1, {z, std::nullopt});
    CHECK_THROWS_AS(resumed->replay(2, {z * 1.001, std::nullopt}), rldp::error);
    CHECK_THROWS_AS(resumed->replay(2, {z, 0}), rldp::error);
    CHECK(resumed->next(2, 1));
}

TEST_CASE("fixed prices noise in bands as rounds, and no other policy takes bands") {
    auto plan = usual();
    plan.sample_rate = 0.01;
    plan.steps = 101;
    const double alone = make_policy(kind::fixed, plan)->initial_noise_multiplier();
    plan.bands = 4;
    const auto policy = make_policy(kind::fixed, plan);
    const double z = policy->initial_noise_multiplier();
    CHECK(z > alone);  // a unit that is drawn four times as often in a quarter of the steps
    const auto committed = policy->committed();
    REQUIRE(committed.size() == 1);
    CHECK(committed[0].noise_multiplier == z);
    CHECK(committed[0].sample_rate == Approx(0.04));
    CHECK(committed[0].steps == 26);
    CHECK(make_accountant("pld")->epsilon(committed, plan.delta) == Approx(policy->epsilon_guaranteed()).epsilon(1e-6));
    for (std::int64_t step = 1; step <= plan.steps; ++step) REQUIRE(policy->next(step, 1)->noise_multiplier == z);
    CHECK_FALSE(policy->next(plan.steps + 1, 1));
    for (const auto other : {kind::deck, kind::filter, kind::published})
        CHECK(has(refusal([&] { make_policy(other, plan); }), "noise.bands is 4"));
    plan.bands = 102;
    CHECK(has(refusal([&] { make_policy(kind::fixed, plan); }), "101 steps"));
    plan.bands = 101;
    CHECK(has(refusal([&] { make_policy(kind::fixed, plan); }), "above 1"));
}

TEST_CASE("several runs of a plan cost what as many steps in one run do") {
    for (const auto kind : {kind::fixed, kind::deck})
        for (const std::int64_t bands : {1, 4}) {
            if (kind == kind::deck && bands > 1) continue;
            auto plan = usual();
            plan.bands = bands;
            const auto alone = make_policy(kind, plan);
            plan.runs = 6;
            const auto shared = make_policy(kind, plan);
            CHECK(shared->initial_noise_multiplier() > alone->initial_noise_multiplier());
            // Of all runs, by an accountant that knows no runs.
            auto phases = shared->committed();
            CHECK(make_accountant("pld")->epsilon(phases, plan.delta) ==
                  Approx(shared->epsilon_guaranteed()).epsilon(1e-6));
            CHECK(shared->epsilon_guaranteed() <= plan.epsilon_budget);
            CHECK(shared->epsilon_guaranteed() == Approx(plan.epsilon_budget).epsilon(1e-3));
            std::int64_t steps = 0;
            for (const auto& each : phases) steps += each.steps;
            CHECK(steps == 6 * plan.steps / bands);
            // One run of them spends a sixth of that, and no more.
            std::int64_t granted = 0;
            for (std::int64_t step = 1; shared->next(step, shared->initial_noise_multiplier()); ++step) ++granted;
            CHECK(granted == plan.steps);
        }
    auto six = usual(), long_one = usual();
    six.runs = 6;
    long_one.steps *= 6;
    CHECK(make_policy(kind::fixed, six)->initial_noise_multiplier() ==
          Approx(make_policy(kind::fixed, long_one)->initial_noise_multiplier()).epsilon(1e-12));
    for (const auto other : {kind::filter, kind::published})
        CHECK(has(refusal([&] { make_policy(other, six); }), "6 runs share one budget"));
    six.runs = 0;
    CHECK(has(refusal([&] { make_policy(kind::fixed, six); }), "0 runs of 1000 steps"));
    six.runs = 10'001;
    CHECK(has(refusal([&] { make_policy(kind::fixed, six); }), "10001 runs of 1000 steps"));
}

TEST_CASE("published: free within half and twice σ_0 under gdp_clt, and no guarantee") {
    const spending_plan p = usual();
    const auto policy = make_policy(kind::published, p);
    const double z = policy->initial_noise_multiplier();
    CHECK(std::isinf(policy->epsilon_guaranteed()));
    const phase all{z, p.sample_rate, p.steps};
    CHECK(make_accountant("gdp_clt")->epsilon({&all, 1}, p.delta) == Approx(p.epsilon_budget).epsilon(1e-4));
    std::vector<phase> phases;
    for (std::int64_t step = 1; step <= p.steps; ++step) {
        const auto granted = policy->next(step, step % 3 ? 9 * z : z);
        REQUIRE(granted);
        phases.push_back({granted->noise_multiplier, p.sample_rate, 1});
        CHECK(granted->noise_multiplier == Approx(step % 3 ? 2 * z : z));
    }
    CHECK(make_accountant("gdp_clt")->epsilon(phases, p.delta) <= p.epsilon_budget);
    const auto loud = make_policy(kind::published, p);
    std::int64_t granted = 0;
    while (loud->next(granted + 1, z / 1.2)) ++granted;
    CHECK(granted < p.steps);
    CHECK(granted > 0);
    CHECK_THROWS_AS(make_policy(kind::published, p)->next(1, 0), rldp::error);
    CHECK_THROWS_AS(make_policy(kind::published, p)->replay(1, {z / 3, std::nullopt}), rldp::error);
    CHECK_THROWS_AS(make_policy(kind::published, p)->replay(1, {z, 1}), rldp::error);
}

TEST_CASE("every policy refuses plans that can't be") {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    const std::vector<std::function<void(spending_plan&)>> spoilers{
        [&](spending_plan& p) { p.epsilon_budget = 0; },
        [&](spending_plan& p) { p.epsilon_budget = nan; },
        [&](spending_plan& p) { p.epsilon_budget = inf; },
        [&](spending_plan& p) { p.epsilon_budget = -2; },
        [&](spending_plan& p) { p.delta = 0; },
        [&](spending_plan& p) { p.delta = 1; },
        [&](spending_plan& p) { p.delta = nan; },
        [&](spending_plan& p) { p.sample_rate = 0; },
        [&](spending_plan& p) { p.sample_rate = 1.1; },
        [&](spending_plan& p) { p.sample_rate = nan; },
        [&](spending_plan& p) { p.steps = 0; },
        [&](spending_plan& p) { p.steps = -1; },
        [&](spending_plan& p) { p.interval = 0; },
        [&](spending_plan& p) { p.interval = -3; },
        [&](spending_plan& p) { p.deck_levels = 0; },
        [&](spending_plan& p) { p.deck_ratio = 0.5; },
        [&](spending_plan& p) { p.deck_ratio = nan; },
        [&](spending_plan& p) { p.deck_ratio = inf; },
    };
    for (const auto how : all_kinds) {
        for (std::size_t i = 0; i < spoilers.size(); ++i) {
            spending_plan p = usual();
            spoilers[i](p);
            CAPTURE(name_of(how), i);
            CHECK_THROWS_AS(make_policy(how, p), rldp::error);
        }
    }
}

TEST_CASE("an accountant that can under-report enforces no sound budget") {
    spending_plan p = usual();
    p.accountant = "gdp_clt";
    for (const auto how : sound_kinds) CHECK_THROWS_AS(make_policy(how, p), rldp::error);
    CHECK_NOTHROW(make_policy(kind::published, p));
    p.accountant = "moments";
    for (const auto how : sound_kinds) CHECK_THROWS_AS(make_policy(how, p), rldp::error);
}
