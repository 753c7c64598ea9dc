// The Rényi filter under adversarial requests.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "base/error.hpp"
#include "privacy/accounting/rdp.hpp"
#include "privacy/spending/policy.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

spending_plan usual(std::int64_t steps) {
    return {2, 1e-5, 0.01, steps, 50, "pld"};
}

std::vector<phase> play(spending_policy& policy, const spending_plan& p,
                        const std::function<double(std::int64_t)>& request) {
    std::vector<phase> phases;
    for (std::int64_t step = 1; step <= p.steps; ++step) {
        const auto granted = policy.next(step, request(step));
        REQUIRE(granted);  // the floor lets the planned steps finish
        CHECK_FALSE(granted->card);
        phases.push_back({granted->noise_multiplier, p.sample_rate, 1});
    }
    CHECK_FALSE(policy.next(p.steps + 1, 1));
    return phases;
}

}  // namespace

TEST_CASE("z_0 is the least that any order allows") {
    const spending_plan p = usual(500);
    const auto policy = make_policy(rldp::policy_kind::filter, p);
    const phase fixed{policy->initial_noise_multiplier(), p.sample_rate, p.steps};
    CHECK(make_accountant("rdp")->epsilon({&fixed, 1}, p.delta) == Approx(p.epsilon_budget).epsilon(1e-4));
    CHECK(policy->epsilon_guaranteed() == p.epsilon_budget);
    CHECK(policy->deck().empty());
    for (const phase& r : play(*policy, p, [&](std::int64_t) { return policy->initial_noise_multiplier(); }))
        CHECK(r.noise_multiplier == Approx(policy->initial_noise_multiplier()).epsilon(1e-4));
}

TEST_CASE("no sequence of requests exceeds the budget of the order fixed beforehand") {
    const spending_plan p = usual(400);
    const double z = make_policy(rldp::policy_kind::filter, p)->initial_noise_multiplier();
    // The order by the definition of α*: what the fixed plan at z_0 converts with.
    const phase fixed{z, p.sample_rate, p.steps};
    const double lambda = best_order_for_delta(direction::remove, {&fixed, 1}, p.delta).lambda;
    std::mt19937_64 random(9);
    std::uniform_real_distribution<double> unit(0, 1);
    const std::vector<std::function<double(std::int64_t)>> adversaries{
        [&](std::int64_t) { return 1e-9; },
        [&](std::int64_t) { return 1e9; },
        [&](std::int64_t step) { return step < 100 ? 2 * z : z / 2; },
        [&](std::int64_t step) { return step % 2 ? z / 2 : 2 * z; },
        [&](std::int64_t step) { return step > 390 ? z / 2 : z; },
        [&](std::int64_t) { return z * std::exp(2 * unit(random) - 1); },
        [&](std::int64_t) { return z * std::exp(6 * unit(random) - 4); },
    };
    for (const auto& request : adversaries) {
        const auto policy = make_policy(rldp::policy_kind::filter, p);
        const auto phases = play(*policy, p, request);
        double spent = 0;
        for (const phase& r : phases) {
            CHECK(r.noise_multiplier >= z / 2 * (1 - 1e-9));
            CHECK(r.noise_multiplier <= 2 * z * (1 + 1e-9));
            spent += log_moment(direction::remove, lambda, r.noise_multiplier, p.sample_rate);
        }
        const double converted = (spent - std::log(p.delta) + log_conversion(lambda)) / lambda;
        CHECK(converted <= p.epsilon_budget * (1 + 1e-8));
        CHECK(make_accountant("pld")->epsilon(phases, p.delta) <= p.epsilon_budget);
    }
}

TEST_CASE("the floor is the smallest that lets the rest finish at 2·z_0, and what is saved can be spent") {
    const spending_plan p = usual(300);
    const auto greedy = make_policy(rldp::policy_kind::filter, p), thrifty = make_policy(rldp::policy_kind::filter, p);
    const double z = greedy->initial_noise_multiplier();
    const auto loud = play(*greedy, p, [&](std::int64_t) { return z / 2; });
    CHECK(loud.front().noise_multiplier < 0.9 * z);
    CHECK(loud.back().noise_multiplier == Approx(2 * z).epsilon(1e-3));
    CHECK(std::is_sorted(loud.begin(), loud.end(), [](const phase& a, const phase& b) {
        return a.noise_multiplier < b.noise_multiplier - 1e-9;
    }));
    const auto saved = play(*thrifty, p, [&](std::int64_t step) { return step <= 150 ? 2 * z : z / 2; });
    CHECK(saved[150].noise_multiplier == Approx(loud.front().noise_multiplier).epsilon(1e-4));
    CHECK(make_accountant("rdp")->epsilon(loud, p.delta) > 0.9 * p.epsilon_budget);
    CHECK(make_accountant("rdp")->epsilon(saved, p.delta) > 0.9 * p.epsilon_budget);
}

TEST_CASE("replay continues the filter's account, and refuses what it would not have granted") {
    const spending_plan p = usual(200);
    const auto original = make_policy(rldp::policy_kind::filter, p),
               resumed = make_policy(rldp::policy_kind::filter, p);
    const double z = original->initial_noise_multiplier();
    for (std::int64_t step = 1; step <= 80; ++step) resumed->replay(step, original->next(step, z * 0.6).value());
    for (std::int64_t step = 81; step <= 201; ++step) {
        const auto a = original->next(step, z * 0.55), b = resumed->next(step, z * 0.55);
        REQUIRE(a.has_value() == b.has_value());
        if (a) CHECK(a->noise_multiplier == b->noise_multiplier);
    }
    const auto fresh = [&] { return make_policy(rldp::policy_kind::filter, p); };
    CHECK_THROWS_AS(fresh()->replay(1, {z * 0.4, std::nullopt}), rldp::error);
    CHECK_THROWS_AS(fresh()->replay(1, {z * 2.1, std::nullopt}), rldp::error);
    CHECK_THROWS_AS(fresh()->replay(1, {std::nan(""), std::nullopt}), rldp::error);
    CHECK_THROWS_AS(fresh()->replay(1, {z, 0}), rldp::error);
    CHECK_THROWS_AS(fresh()->replay(201, {z, std::nullopt}), rldp::error);
    const auto spent = fresh();
    CHECK_THROWS_AS(
        [&] {
            for (std::int64_t step = 1; step <= 200; ++step) spent->replay(step, {z / 2, std::nullopt});
        }(),
        rldp::error);
    for (const double request : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
        CHECK_THROWS_AS(fresh()->next(1, request), rldp::error);
}
