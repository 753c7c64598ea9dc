#include <algorithm>
#include <cmath>
#include <set>

#include "data/units/split_and_sampling.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

std::vector<identity_hash> hashes(std::size_t n, std::int64_t seed) {
    const identity_hasher hash(seed);
    std::vector<identity_hash> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(hash("record", std::to_string(i)));
    return out;
}

double count(const std::vector<placement>& places, side where) {
    return static_cast<double>(std::count_if(places.begin(), places.end(), [&](auto& p) { return p.where == where; }));
}

double canaries(const std::vector<placement>& places) {
    return static_cast<double>(std::count_if(places.begin(), places.end(), [](auto& p) { return p.canary; }));
}

/// Deviations of a binomial count from its mean.
double deviations(double hits, double n, double p) {
    return std::abs(hits - n * p) / std::sqrt(n * p * (1 - p));
}

split_rule make_test_rule(rldp::split_kind how, std::int64_t seed, std::int64_t planted) {
    split_rule out;
    out.how = how;
    out.seed = seed;
    out.canaries = planted;
    return out;
}

}  // namespace

TEST_CASE("the keyed hash is BLAKE2b as Python's hashlib computes it") {
    const auto a = identity_hasher(42)("record", "2278392");
    CHECK(a.id == 0xc425e3f833ac34c3);
    CHECK(a.side == 0x45faf44561eda393);
    CHECK(a.eval == 0x825ab369e0b460de);
    CHECK(a.canary == 0x4f0ba10367344e2f);
    CHECK(a.secret() == "2GIEX1RWYU");
    const auto b = identity_hasher(-7)("group", "8222157");
    CHECK(b.id == 0xf06c97b41883cae6);
    CHECK(b.secret() == "GA6Q7CC9JP");
}

TEST_CASE("hashed shares are binomial, independent of each other and of other seeds") {
    constexpr std::size_t n = 40'000;
    const auto rule = make_test_rule(rldp::split_kind::hash, 1, 2000);
    const auto first = place(hashes(n, 1), rule), second = place(hashes(n, 2), rule);
    CHECK(deviations(count(first, side::attack), n, .2) < 5);
    CHECK(deviations(count(first, side::attack), n, .18) > 5);  // the test can tell
    CHECK(deviations(count(first, side::eval), n, .08) < 5);
    CHECK(deviations(count(first, side::eval), n, .1) > 5);
    CHECK(deviations(canaries(first), n, 2000. / n) < 5);
    CHECK(deviations(canaries(first), n, 2000. / n * .72) > 5);
    double both = 0;
    for (std::size_t i = 0; i < n; ++i) both += first[i].where == side::attack && second[i].where == side::attack;
    CHECK(deviations(both, n, .04) < 5);
    for (const auto& p : first) CHECK_FALSE((p.canary && p.where != side::train));
}

TEST_CASE("with a declared population a unit's place depends on nobody else") {
    auto rule = make_test_rule(rldp::split_kind::hash, 3, 30);
    rule.population = 300;
    const auto all = hashes(500, 3);
    const auto together = place(all, rule);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto others = all;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        const auto without = place(others, rule);
        for (std::size_t j = 0; j < others.size(); ++j) {
            const auto& before = together[j < i ? j : j + 1];
            REQUIRE(before.where == without[j].where);
            REQUIRE(before.canary == without[j].canary);
        }
    }
}

TEST_CASE("exact shares and canaries are exact and shuffled") {
    const auto rule = make_test_rule(rldp::split_kind::exact, 4, 10);
    const auto units = hashes(101'766, 4);
    const auto places = place(units, rule);
    CHECK(count(places, side::attack) == 20'353);
    CHECK(count(places, side::train) == 73'271);  // the published number
    CHECK(count(places, side::eval) == 8'142);
    CHECK(canaries(places) == 10);
    double early = 0;  // Attack units among the first half
    for (std::size_t i = 0; i < 50'883; ++i) early += places[i].where == side::attack;
    CHECK(deviations(early, 20'353, .5) < 5);
    for (const auto& p : places) CHECK_FALSE((p.canary && p.where != side::train));
}

TEST_CASE("secrets are ten even characters and differ") {
    const auto units = hashes(20'000, 5);
    std::set<std::string> seen;
    std::vector<double> counts(36);
    for (const auto& u : units) {
        REQUIRE(u.secret().size() == 10);
        seen.insert(u.secret());
        for (const char c : u.symbols) {
            const bool digit = c >= '0' && c <= '9';
            REQUIRE((digit || (c >= 'A' && c <= 'Z')));
            ++counts[static_cast<std::size_t>(digit ? 26 + c - '0' : c - 'A')];
        }
    }
    CHECK(seen.size() == units.size());
    double chi = 0;  // 35 degrees of freedom: mean 35, deviation 8.4
    for (const double c : counts) chi += (c - 200'000. / 36) * (c - 200'000. / 36) / (200'000. / 36);
    CHECK(chi < 85);
}

TEST_CASE("a split that can't be is refused") {
    const auto units = hashes(50, 6);
    const auto refused = [&](auto change) {
        split_rule rule;
        change(rule);
        return refusal([&] { place(units, rule); });
    };
    CHECK(has(refused([](auto& r) { r.canaries = -1; }), "a bug in rldp"));
    CHECK(has(refused([](auto& r) { r.canaries = 51; }), "data.canaries is 51, but only"));
    CHECK(refused([](auto& r) { r.canaries = 36, r.how = rldp::split_kind::exact; }).empty());
    CHECK(has(refused([](auto& r) { r.canaries = 37, r.how = rldp::split_kind::exact; }), "only 36 units"));
    // A declared N keeps the number of units private.
    CHECK(refused([](auto& r) { r.canaries = 51, r.population = 60; }).empty());
    CHECK(has(refused([](auto& r) { r.canaries = 61, r.population = 60; }), "above privacy.population 60"));
    CHECK(has(refused([](auto& r) { r.attack = 1; }), "a bug in rldp"));
    CHECK(has(refused([](auto& r) { r.eval = std::nan(""); }), "a bug in rldp"));
    CHECK(has(refused([](auto& r) { r.population = 0; }), "a bug in rldp"));
}
