// A look at held-out units: what one unit can add, how much noise there is, and what the figures are worth.
#include "privacy/mechanism/look.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::privacy;
using rldp::testing::looked_at;

namespace {

const look_frame everything{{4, 3}, look_axis{5, 6}, true};

unit_look any_unit(std::mt19937_64& random) {
    std::uniform_real_distribution<double> share(0, 1);
    std::exponential_distribution<double> large(0.05);
    unit_look out{large(random), large(random), share(random)};
    if (random() % 5 == 0) out.value_token_nats.reset();
    if (random() % 5 == 0) out.hits.reset();
    if (random() % 11 == 0) out.nats = std::numeric_limits<double>::quiet_NaN();
    if (random() % 13 == 0) out.nats = 1e300;
    return out;
}

std::vector<double> compute_sum(const std::vector<unit_look>& units, const look_charge& charged) {
    look_sum sum(everything);
    for (const auto& unit : units) sum.add(unit);
    return sum.finish(charged, run_key::insecure_from_seed(1)).numbers;
}

}  // namespace

TEST_CASE("one more unit changes a look by a vector of norm 1 at most, wherever it stands, and nothing else") {
    const auto ledger = looked_at(1, 0);
    std::mt19937_64 random(3);
    double longest = 0;
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<unit_look> units;
        units.reserve(21);
        for (int i = 0; i < 20; ++i) units.push_back(any_unit(random));
        const auto without = compute_sum(units, ledger.looks[0]);
        std::shuffle(units.begin(), units.end(), random);
        CHECK(compute_sum(units, ledger.looks[0]) == without);
        units.insert(units.begin() + static_cast<std::ptrdiff_t>(random() % 21), any_unit(random));
        const auto with = compute_sum(units, ledger.looks[0]);
        double squares = 0;
        for (std::size_t i = 0; i < with.size(); ++i) squares += (with[i] - without[i]) * (with[i] - without[i]);
        longest = std::max(longest, std::sqrt(squares));
    }
    CHECK(longest <= 1 + 1e-12);
    CHECK(longest > 0.99);
}

TEST_CASE("a look has the noise that was charged, anew for every look") {
    constexpr double z = 1.5;
    constexpr std::int64_t looks = 600;
    const auto ledger = looked_at(looks, z);
    double squares = 0, product = 0;
    std::vector<double> before(everything.entries());
    for (const auto& charged : ledger.looks) {
        const auto numbers = compute_sum({}, charged);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            squares += numbers[i] * numbers[i] / (z * z);
            product += numbers[i] * before[i] / (z * z);
        }
        before = numbers;
    }
    // A χ² of n degrees has deviation √(2n); a tenth less noise would lie 6.6 deviations below.
    const auto n = static_cast<double>(looks * static_cast<std::int64_t>(everything.entries()));
    CHECK(std::abs(squares - n) < 5 * std::sqrt(2 * n));
    CHECK(std::abs(product) < 5 * std::sqrt(n));
}

TEST_CASE("nineteen of twenty intervals hold the mean of the units looked at") {
    constexpr double z = 2;
    constexpr std::int64_t looks = 1500;
    const auto ledger = looked_at(looks, z);
    std::mt19937_64 random(5);
    std::normal_distribution<double> nats(3.6, 0.3);
    int held = 0, values_held = 0, hits_held = 0;
    for (const auto& charged : ledger.looks) {
        look_sum sum(everything);
        double mean = 0, values = 0, right = 0;
        const int count = 40 + static_cast<int>(random() % 200);
        for (int i = 0; i < count; ++i) {
            const unit_look unit{nats(random), nats(random) + 1, random() % 20 == 0 ? 1.0 : 0.0};
            mean += unit.nats / count;
            values += *unit.value_token_nats / count;
            right += *unit.hits / count;
            sum.add(unit);
        }
        CHECK(sum.shortened() == 0);
        const auto found = decode_figures(sum.finish(charged, run_key::insecure_from_seed(1)));
        held += std::abs(found.nats.value - mean) <= found.nats.within ? 1 : 0;
        values_held += std::abs(found.value_token_nats->value - values) <= found.value_token_nats->within ? 1 : 0;
        hits_held += std::abs(found.hits->value - right) <= found.hits->within ? 1 : 0;
    }
    // 0.95·1500 = 1425, deviation 8.4; a ratio's interval is a little off where units are few.
    for (const int each : {held, values_held, hits_held}) {
        CHECK(each > 1425 - 6 * 9);
        CHECK(each < 1425 + 6 * 9);
    }
}

TEST_CASE("what a plan expects of a look is what its figures say") {
    const auto ledger = looked_at(1, 2);
    look_sum sum(look_frame{{2, 3}});
    for (int i = 0; i < 5000; ++i) sum.add({2, {}, {}});
    CHECK(decode_figures(sum.finish(ledger.looks[0], run_key::insecure_from_seed(1))).nats.within ==
          Approx(3 * expected_within(2, 5000)).epsilon(0.01));
}

TEST_CASE("of nobody a look tells nothing, with an interval that says so") {
    const auto ledger = looked_at(200, 1);
    int wide = 0;
    for (const auto& charged : ledger.looks) {
        look_sum sum(look_frame{{4, 3}});
        wide += decode_figures(sum.finish(charged, run_key::insecure_from_seed(1))).nats.within > 1 ? 1 : 0;
    }
    CHECK(wide > 190);  // of a scale on which a model that knows nothing lies 3 from the middle
}

TEST_CASE("units whose losses are no numbers lie beyond any that have one") {
    const auto ledger = looked_at(1, 2);
    const auto read = [&](const unit_look& each) {
        look_sum sum(everything);
        for (int i = 0; i < 400; ++i) sum.add(each);
        CHECK(sum.shortened() == 400);
        return decode_figures(sum.finish(ledger.looks[0], run_key::insecure_from_seed(1)));
    };
    const double none = std::numeric_limits<double>::quiet_NaN();
    const auto worst = read({40, 40, 0}), broken = read({none, none, none});
    CHECK(worst.nats.value < broken.nats.value);
    CHECK(worst.value_token_nats->value < broken.value_token_nats->value);
}

TEST_CASE("a look's noise is drawn once") {
    const auto ledger = looked_at(1, 1);
    look_sum sum(look_frame{{4, 3}});
    sum.finish(ledger.looks[0], run_key::insecure_from_seed(1));
    CHECK_THROWS(sum.finish(ledger.looks[0], run_key::insecure_from_seed(1)));
}

TEST_CASE("a look's line reads back, and only with the charge that paid for it") {
    const auto ledger = looked_at(2, 1.25), other = looked_at(2, 1.5);
    look_sum sum(everything);
    sum.add({1, 2, 1});
    const auto made = sum.finish(ledger.looks[1], run_key::insecure_from_seed(1));
    const auto text = to_json(made);
    const auto back = look_from(text, ledger);
    CHECK(back.numbers == made.numbers);
    CHECK(back.frame == made.frame);
    CHECK(back.charged->look == 2);
    CHECK(has(refusal([&] { look_from(text, other); }), "charged another one"));
    CHECK(has(refusal([&] { look_from(text, looked_at(1, 1.25)); }), "did not charge it"));
    CHECK(has(refusal([&] { look_from("[]", ledger); }), "not a look"));
    auto short_of_one = text;
    short_of_one.replace(short_of_one.find("\"numbers\":["), 11, "\"numbers\":[1.0,");
    CHECK(has(refusal([&] { look_from(short_of_one, ledger); }), "not those of a look"));
}
