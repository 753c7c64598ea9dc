// Spending policies under requests that try to overspend: what they grant stays within what they guarantee.
#include "privacy/policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "config/error.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

plan plan_of(std::int64_t steps, std::int64_t interval, const std::string& accountant = "rdp") {
    plan out{};
    out.epsilon = 4;
    out.delta = 1e-5;
    out.sample_rate = 0.02;
    out.steps = steps;
    out.interval = interval;
    out.accountant = accountant;
    return out;
}

/// Asks step by step until nothing more is granted, and returns the realised runs.
template <class Ask>
std::vector<run> exhaust(spending_policy& policy, const plan& plan, Ask ask) {
    std::vector<run> runs;
    for (std::int64_t step = 1; step <= plan.steps; ++step) {
        const auto granted = policy.next(step, ask(step));
        if (!granted) break;
        runs.push_back({granted->noise_multiplier, plan.sample_rate, 1});
    }
    return runs;
}

double epsilon(const std::vector<run>& runs, const plan& plan) {
    return make_accountant(plan.accountant)->epsilon(runs, plan.delta);
}

}  // namespace

TEST_CASE("fixed: every step at the calibrated multiplier, whatever is asked for") {
    const auto plan = plan_of(100, 10);
    const auto policy = make_policy("fixed", plan);
    CHECK(policy->guaranteed_epsilon() <= plan.epsilon);
    CHECK(policy->guaranteed_epsilon() > plan.epsilon - 1e-3);
    const auto runs = exhaust(*policy, plan, [](std::int64_t) { return 1e-9; });
    REQUIRE(runs.size() == 100);
    for (const auto& r : runs) CHECK(r.noise_multiplier == policy->initial_noise_multiplier());
    CHECK_FALSE(policy->next(101, 1).has_value());
}

TEST_CASE("deck: any order of dealing composes to at most what is guaranteed, and every card is dealt once") {
    std::mt19937_64 random(11);
    for (int trial = 0; trial < 12; ++trial) {
        const std::int64_t interval = 1 + static_cast<std::int64_t>(random() % 9);
        const auto plan = plan_of(20 + static_cast<std::int64_t>(random() % 60), interval);
        const auto policy = make_policy("deck", plan);
        INFO("steps " << plan.steps << ", interval " << interval);
        CHECK(policy->guaranteed_epsilon() <= plan.epsilon);
        const int kind = trial % 4;
        std::vector<int> dealt(policy->deck().size(), 0);
        std::vector<run> runs;
        for (std::int64_t step = 1; step <= plan.steps; ++step) {
            const double ask = kind == 0 ? 1e-6 : kind == 1 ? 1e6 : std::exp(4.0 * static_cast<double>(random() % 1000) / 1000 - 2);
            const auto granted = policy->next(step, ask);
            REQUIRE(granted);
            REQUIRE(granted->card);
            ++dealt[*granted->card];
            runs.push_back({granted->noise_multiplier, plan.sample_rate, 1});
        }
        CHECK(std::all_of(dealt.begin(), dealt.end(), [&](int n) { return n <= interval; }));
        CHECK(epsilon(runs, plan) <= policy->guaranteed_epsilon() + 1e-9);
        CHECK_FALSE(policy->next(plan.steps + 1, 1).has_value());
    }
}

TEST_CASE("deck: the first block has the card nearest z_0, later ones the card nearest to what is asked") {
    const auto plan = plan_of(64, 8);
    const auto policy = make_policy("deck", plan);
    REQUIRE(policy->deck().size() == 8);
    const auto first = policy->next(1, 1e9);
    REQUIRE(first);
    for (const auto& card : policy->deck())
        CHECK(std::abs(std::log(first->noise_multiplier / policy->initial_noise_multiplier())) <=
              std::abs(std::log(card.noise_multiplier / policy->initial_noise_multiplier())) + 1e-9);
    for (std::int64_t step = 2; step <= 8; ++step) CHECK(policy->next(step, 1e-9)->card == first->card);
    const auto levels = policy->deck();
    const auto most = std::max_element(levels.begin(), levels.end(),
                                       [](const card& a, const card& b) { return a.noise_multiplier < b.noise_multiplier; });
    CHECK(policy->next(9, 1e9)->noise_multiplier == most->noise_multiplier);
    CHECK(most->noise_multiplier / std::min_element(levels.begin(), levels.end(), [](const card& a, const card& b) {
                                       return a.noise_multiplier < b.noise_multiplier;
                                   })->noise_multiplier ==
          Approx(4).epsilon(1e-9));
}

TEST_CASE("filter: adversarial requests never pass the budget, and the floor lets the planned steps finish") {
    std::mt19937_64 random(7);
    for (int trial = 0; trial < 8; ++trial) {
        const auto plan = plan_of(80, 8);
        const auto policy = make_policy("filter", plan);
        const double z0 = policy->initial_noise_multiplier();
        const auto runs = exhaust(*policy, plan, [&](std::int64_t step) {
            switch (trial % 4) {
                case 0: return 0.5 * z0;
                case 1: return step < 40 ? 2 * z0 : 0.5 * z0;
                case 2: return step % 2 == 0 ? 0.01 : 100.0;
                default: return z0 * std::exp(static_cast<double>(random() % 1000) / 500 - 1);
            }
        });
        CHECK(runs.size() == 80);
        CHECK(epsilon(runs, plan) <= plan.epsilon + 1e-9);
        for (const auto& r : runs) {
            CHECK(r.noise_multiplier >= 0.5 * z0 * (1 - 1e-12));
            CHECK(r.noise_multiplier <= 2 * z0 * (1 + 1e-12));
        }
    }
}

TEST_CASE("a replayed policy goes on as the one that granted, and refuses what it would not have granted") {
    for (const auto* name : {"fixed", "deck", "filter"}) {
        INFO(name);
        const auto plan = plan_of(40, 5);
        const auto original = make_policy(name, plan);
        const auto copy = make_policy(name, plan);
        const auto ask = [](std::int64_t step) { return 0.4 + 0.05 * static_cast<double>(step / 5); };
        for (std::int64_t step = 1; step <= 20; ++step) copy->replay(step, *original->next(step, ask(step)));
        for (std::int64_t step = 21; step <= 40; ++step) {
            const auto a = original->next(step, ask(step)), b = copy->next(step, ask(step));
            REQUIRE(a);
            REQUIRE(b);
            CHECK(a->noise_multiplier == b->noise_multiplier);
            CHECK(a->card == b->card);
        }
        const auto fresh = make_policy(name, plan);
        CHECK_THROWS_AS(fresh->replay(1, {1e-3, std::size_t{0}}), rldp::error);
    }
}

TEST_CASE("published: free σ within half and twice σ_0, no guarantee") {
    const auto plan = plan_of(50, 5, "gdp_clt");
    const auto policy = make_policy("published", plan);
    CHECK(std::isinf(policy->guaranteed_epsilon()));
    const double z0 = policy->initial_noise_multiplier();
    const auto runs = exhaust(*policy, plan, [&](std::int64_t) { return 0.01; });
    CHECK(runs.size() < 50);  // σ_0/2 spends the budget early
    for (const auto& r : runs) CHECK(r.noise_multiplier >= 0.5 * z0 * (1 - 1e-12));
}

TEST_CASE("policies refuse plans that make no sense") {
    for (const auto* name : {"fixed", "deck", "filter", "published"}) {
        for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
            auto plan = plan_of(10, 5);
            plan.epsilon = bad;
            CHECK_THROWS_AS(make_policy(name, plan), rldp::error);
        }
        auto plan = plan_of(10, 5);
        plan.sample_rate = 1.5;
        CHECK_THROWS_AS(make_policy(name, plan), rldp::error);
        plan = plan_of(0, 5);
        CHECK_THROWS_AS(make_policy(name, plan), rldp::error);
    }
    CHECK_THROWS_AS(make_policy("generous", plan_of(10, 5)), rldp::error);
}
