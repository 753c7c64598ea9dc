// The deck as a data structure: levels, counts, order, replay.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "privacy/spending/policy.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

spending_plan usual(std::int64_t steps, std::int64_t interval) {
    return {2, 1e-5, 1e-3, steps, interval, "rdp", 8, 4};
}

std::map<double, int> counts(const std::vector<card>& deck) {
    std::map<double, int> out;
    for (const card& c : deck) ++out[c.noise_multiplier];
    return out;
}

}  // namespace

TEST_CASE("levels are geometric around z_0, counts equal, the remainder next to z_0") {
    const spending_plan p = usual(13738, 112);  // 123 blocks: 15 for each of 8 levels, 3 more
    const auto policy = make_policy(rldp::policy_kind::deck, p);
    const double z = policy->initial_noise_multiplier();
    const auto levels = counts(policy->deck());
    REQUIRE(levels.size() == 8);
    CHECK(policy->deck().size() == 123);
    CHECK(levels.begin()->first == Approx(z / 2));
    CHECK(levels.rbegin()->first == Approx(2 * z));
    std::vector<int> by_level;
    double last = 0;
    for (const auto& [level, count] : levels) {
        if (last > 0) CHECK(level / last == Approx(std::pow(4, 1.0 / 7)));
        last = level;
        by_level.push_back(count);
    }
    CHECK(by_level == std::vector<int>{15, 15, 15, 16, 16, 16, 15, 15});  // ties to the larger z
    CHECK(policy->epsilon_guaranteed() <= p.epsilon_budget);
    CHECK(policy->epsilon_guaranteed() >= p.epsilon_budget * (1 - 1e-3));
    const auto priced = priced_phases(policy->deck(), p.sample_rate, p.steps);
    CHECK(make_accountant("rdp")->epsilon(priced, p.delta) == Approx(policy->epsilon_guaranteed()));
    std::int64_t total = 0;
    for (const phase& r : priced) total += r.steps;
    CHECK(total == p.steps);
    CHECK(priced.back().steps == 15 * 112 - (123 * 112 - 13738));
}

TEST_CASE("short runs: fewer blocks than levels, one block, one level, ratio 1") {
    CHECK(counts(make_policy(rldp::policy_kind::deck, usual(300, 100))->deck()).size() == 3);
    const auto one = make_policy(rldp::policy_kind::deck, usual(50, 100));
    REQUIRE(one->deck().size() == 1);
    CHECK(one->deck()[0].steps == 50);
    CHECK(one->deck()[0].noise_multiplier == one->initial_noise_multiplier());
    CHECK(one->initial_noise_multiplier() ==
          Approx(make_policy(rldp::policy_kind::fixed, usual(50, 100))->initial_noise_multiplier()).epsilon(1e-5));
    auto flat = usual(1000, 100);
    flat.deck_ratio = 1;
    const auto level = make_policy(rldp::policy_kind::deck, flat);
    for (const card& c : level->deck()) CHECK(c.noise_multiplier == Approx(level->initial_noise_multiplier()));
    auto single = usual(1000, 100);
    single.deck_levels = 1;
    CHECK(counts(make_policy(rldp::policy_kind::deck, single)->deck()).size() == 1);
}

TEST_CASE("each block takes the nearest card left, and keeps it") {
    const spending_plan p = usual(1000, 100);
    const auto policy = make_policy(rldp::policy_kind::deck, p);
    const double z = policy->initial_noise_multiplier();
    std::set<std::size_t> left;
    for (std::size_t i = 0; i < policy->deck().size(); ++i) left.insert(i);
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> log_request(std::log(z / 4), std::log(4 * z));
    for (std::int64_t block = 0; block < 10; ++block) {
        double request = std::exp(log_request(random));
        const auto first = policy->next(block * 100 + 1, request);
        REQUIRE(first);
        REQUIRE(first->card);
        REQUIRE(left.count(*first->card) == 1);
        if (block == 0) request = z;
        for (const std::size_t i : left) {
            const double distance = std::abs(std::log(policy->deck()[i].noise_multiplier / request));
            const double taken = std::abs(std::log(first->noise_multiplier / request));
            CHECK(taken <= distance + 1e-9);
            if (std::abs(taken - distance) < 1e-9) CHECK(first->noise_multiplier >= policy->deck()[i].noise_multiplier);
        }
        left.erase(*first->card);
        for (std::int64_t step = 2; step <= 100; ++step) {
            const auto next = policy->next(block * 100 + step, std::exp(log_request(random)));
            REQUIRE(next);
            CHECK(next->card == first->card);
            CHECK(next->noise_multiplier == first->noise_multiplier);
        }
    }
    CHECK(left.empty());
    CHECK_FALSE(policy->next(1001, z));
}

TEST_CASE("no card is dealt twice and no more steps are granted than planned, whatever is asked for and left out") {
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> unit(0, 1);
    for (int trial = 0; trial < 30; ++trial) {
        const spending_plan p =
            usual(1 + static_cast<std::int64_t>(unit(random) * 300), 1 + static_cast<std::int64_t>(unit(random) * 40));
        const auto policy = make_policy(rldp::policy_kind::deck, p);
        std::vector<std::int64_t> used(policy->deck().size());
        std::vector<phase> realised;
        std::int64_t total = 0;
        for (std::int64_t step = 1; step <= p.steps + 50;
             step += unit(random) < 0.05 ? 1 + static_cast<std::int64_t>(unit(random) * 60) : 1) {
            const auto granted = policy->next(step, std::exp(20 * (unit(random) - 0.5)));
            CHECK(granted.has_value() == (step <= p.steps));
            if (!granted) continue;
            ++used[granted->card.value()];
            realised.push_back({granted->noise_multiplier, p.sample_rate, 1});
            ++total;
        }
        CHECK(total <= p.steps);
        CHECK(make_accountant("rdp")->epsilon(realised, p.delta) <= policy->epsilon_guaranteed() * (1 + 1e-9));
        for (std::size_t i = 0; i < used.size(); ++i) CHECK(used[i] <= policy->deck()[i].steps);
    }
}

TEST_CASE("a replayed run goes on as the original would have") {
    const spending_plan p = usual(700, 64);
    const auto original = make_policy(rldp::policy_kind::deck, p);
    std::mt19937_64 random(6);
    std::uniform_real_distribution<double> request(0.3, 4);
    std::vector<std::pair<std::int64_t, grant>> ledger;
    for (std::int64_t step = 1; step <= 333; ++step)
        if (step % 50 != 0) ledger.emplace_back(step, original->next(step, request(random)).value());
    const auto resumed = make_policy(rldp::policy_kind::deck, p);
    for (const auto& [step, granted] : ledger) resumed->replay(step, granted);
    for (std::int64_t step = 334; step <= 701; ++step) {
        const double asked = request(random);
        const auto a = original->next(step, asked), b = resumed->next(step, asked);
        REQUIRE(a.has_value() == b.has_value());
        if (!a) continue;
        CHECK(a->card == b->card);
        CHECK(a->noise_multiplier == b->noise_multiplier);
    }
}

TEST_CASE("a replay that this deck would not have granted is refused") {
    const spending_plan p = usual(400, 100);
    const auto dealt = make_policy(rldp::policy_kind::deck, p);
    const grant first = dealt->next(1, 1).value();
    const auto refused = [&](std::int64_t step, grant g) {
        const auto policy = make_policy(rldp::policy_kind::deck, p);
        policy->replay(1, first);
        CHECK_THROWS_AS(policy->replay(step, g), rldp::error);
    };
    const std::size_t other = *first.card == 0 ? 1 : 0;
    const double other_z = dealt->deck()[other].noise_multiplier;
    refused(2, {other_z, other});                   // another card within the block
    refused(101, first);                            // the same card in another block
    refused(101, {other_z * 1.01, other});          // not the card's multiplier
    refused(101, {other_z, dealt->deck().size()});  // no such card
    refused(101, {other_z, std::nullopt});
    refused(1, first);               // twice
    refused(401, {other_z, other});  // beyond the plan
    CHECK_THROWS_AS(make_policy(rldp::policy_kind::deck, p)->replay(1, {other_z, other}),
                    rldp::error);  // not nearest z_0
}

TEST_CASE("requests that mean nothing are refused and change nothing") {
    const spending_plan p = usual(400, 100);
    const auto policy = make_policy(rldp::policy_kind::deck, p), untouched = make_policy(rldp::policy_kind::deck, p);
    policy->next(1, std::nan(""));  // the first block heeds no request
    untouched->next(1, 1);
    for (const double request : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
        CHECK_THROWS_AS(policy->next(101, request), rldp::error);
    CHECK_THROWS_AS(policy->next(1, 1), rldp::error);
    CHECK(policy->next(101, 1)->card == untouched->next(101, 1)->card);
}
