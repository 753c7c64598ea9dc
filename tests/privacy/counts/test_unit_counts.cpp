// Noised counts of units: what one unit can add, how much noise there is, and who is named.
#include "privacy/counts/unit_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "privacy/accounting/gdp.hpp"
#include "privacy/counts/row_choice.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::privacy;

namespace {

constexpr std::int64_t most_rows = 4;

counts_charge paid(double epsilon, double delta, bool selects) {
    return charge_without_book(
        {.what = "a test", .unit = "record", .epsilon = epsilon, .delta = delta, .selects = selects});
}

/// Rows of units, each with a place in three lists.
struct row {
    std::string unit;
    std::size_t a, b, c;
};

const std::vector<counted_list> three_lists = {
    {.places = 3, .share = 0.5}, {.places = 5, .share = 0.25}, {.places = 2, .share = 0.25}};

noised_counts count(const std::vector<row>& rows, const counts_charge& charged, std::int64_t seed) {
    const auto key = run_key::insecure_from_seed(seed);
    row_choice choice(most_rows, key);
    for (const auto& one : rows) choice.see(one.unit);
    const auto of_unit = choice.finish();
    unit_counts sums(three_lists, most_rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::vector<row_place> at = {rows[i].a, rows[i].b, rows[i].c};
        if (of_unit[i] > 0) sums.add(at, of_unit[i]);
    }
    return sums.finish(charged, key);
}

/// Of the difference, each list scaled by its noise: what a charge of 1/multiplier pays for.
double compute_distance(const noised_counts& x, const noised_counts& y) {
    double squares = 0;
    for (std::size_t i = 0; i < x.lists.size(); ++i)
        for (std::size_t j = 0; j < x.lists[i].places.size(); ++j)
            squares += std::pow((x.lists[i].places[j] - y.lists[i].places[j]) / x.lists[i].deviation, 2);
    return std::sqrt(squares);
}

double upper_tail_of(double x) {
    return std::erfc(x / std::sqrt(2.0)) / 2;
}

}  // namespace

TEST_CASE("counts cost what the Gaussian mechanism does, and naming values has half of delta") {
    CHECK(price_counts(1, 1e-5, false).noise_multiplier == Approx(3.730632).epsilon(1e-6));  // Balle, Wang 2018
    CHECK(price_counts(1, 1e-5, false).selection_delta == 0);
    for (const double epsilon : {0.01, 0.1, 1.0, 5.0}) {
        const auto price = price_counts(epsilon, 1e-6, true);
        CHECK(price.selection_delta == 5e-7);
        const double at = epsilon + std::log1p(-5e-7);
        CHECK(gaussian_delta(1 / price.noise_multiplier, at) <= 5e-7);
        CHECK(gaussian_delta(1.00001 / price.noise_multiplier, at) > 5e-7);
    }
    for (const double epsilon : {0.0, -1.0, std::numeric_limits<double>::infinity()})
        CHECK(has(refusal([&] { price_counts(epsilon, 1e-6, true); }), "give a finite number above 0"));
    CHECK(has(refusal([] { price_counts(1, 0, true); }), "delta"));
    CHECK(has(refusal([] { price_counts(1e-9, 1e-6, true); }), "that buys nothing"));
}

TEST_CASE("one more person of many rows changes all lists together by no more than was charged") {
    const auto charged = paid(1, 1e-6, false);
    const double most = 1 / charged.price().noise_multiplier;
    std::mt19937_64 random(5);
    double longest = 0;
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<row> rows;
        for (int i = 0; i < 30; ++i)
            rows.push_back({std::to_string(random() % 9), random() % 3, random() % 5, random() % 2});
        const auto without = count(rows, charged, trial);
        // Behind the others, whose lots are then the same.
        const auto more = random() % 40 + 1;
        const bool always_there = trial % 4 == 0;
        for (std::size_t i = 0; i < more; ++i)
            rows.push_back({"new", always_there ? 0 : random() % 3, always_there ? 0 : random() % 5,
                            always_there ? 0 : random() % 2});
        longest = std::max(longest, compute_distance(count(rows, charged, trial), without));
    }
    CHECK(longest <= most * (1 + 1e-5));  // of the public grid
    CHECK(longest > 0.99 * most);
}

TEST_CASE("each list's noise has its deviation") {
    const auto charged = paid(1, 1e-6, false);
    for (std::size_t i = 0; i < three_lists.size(); ++i) {
        double squares = 0, n = 0;
        for (std::int64_t seed = 0; seed < 800; ++seed) {
            const auto made = count({}, charged, seed).lists[i];
            CHECK(made.deviation ==
                  Approx(charged.price().noise_multiplier / std::sqrt(three_lists[i].share)).epsilon(1e-12));
            for (const double each : made.places) squares += std::pow(each / made.deviation, 2), ++n;
        }
        // A tenth less noise would lie 5 deviations below with two places, more with more.
        CHECK(std::abs(squares - n) < 4.5 * std::sqrt(2 * n));
    }
}

TEST_CASE("a value that one unit alone has is named with at most the probability that was set aside") {
    CHECK(selection_threshold(1, 1, upper_tail_of(5)) == Approx(6).epsilon(1e-5));
    CHECK(selection_threshold(10, 1, upper_tail_of(3)) == Approx(31).epsilon(1e-5));
    CHECK(selection_threshold(10, 8, upper_tail_of(3)) > 31.5);
    const auto charged = paid(1, 0.04, true);  // of which 0.02
    constexpr int trials = 6000;
    const auto named = [&](std::int64_t rows, const std::vector<std::string>& values) {
        int out = 0;
        for (int seed = 0; seed < trials; ++seed) {
            unit_counts sums({{.places = 0, .share = 1}}, rows);
            for (const auto& value : values)
                sums.add(std::vector<row_place>{std::string_view(value)}, std::ssize(values));
            out += sums.finish(charged, run_key::insecure_from_seed(seed)).lists[0].found.empty() ? 0 : 1;
        }
        return out;
    };
    // Of 6,000 it is 120 ± 10.8; a threshold half a unit lower would make it more than 180.
    CHECK(std::abs(named(1, {"rare"}) - 120) < 50);
    CHECK(named(4, {"rare"}) < 170);
    CHECK(named(4, {"a", "b", "c", "d"}) < 170);
}

TEST_CASE("values that many have are named, and nothing else") {
    const auto charged = paid(1, 1e-6, true);
    unit_counts sums({{.places = 0, .share = 1}}, 1);
    for (int i = 0; i < 3000; ++i) sums.add(std::vector<row_place>{std::string_view(i % 3 ? "often" : "less")}, 1);
    for (const char* once : {"Ada", "Bob"}) sums.add(std::vector<row_place>{std::string_view(once)}, 1);
    sums.add(std::vector<row_place>{{}}, 1);
    const auto list = sums.finish(charged, run_key::from_system()).lists[0];
    CHECK(list.found.size() == 2);
    CHECK(std::abs(list.found.at("often") - 2000) < 6 * list.deviation);
    CHECK(list.threshold == Approx(selection_threshold(list.deviation, 1, 5e-7)));
}

TEST_CASE("neighbouring tables are told apart no better than was promised") {
    constexpr double epsilon = 1, delta = 0.01;
    const auto charged = paid(epsilon, delta, false);
    constexpr int trials = 4000;
    std::vector<row> rows, more;
    for (int i = 0; i < 20; ++i) rows.push_back({std::to_string(i), 0, 1, 1});
    more = rows;
    for (int i = 0; i < 50; ++i) more.push_back({"Ada", 0, 1, 1});
    // The most telling statistic: the noised counts along the direction in which the tables differ.
    const auto score = [](const noised_counts& of) {
        const auto part = [&](std::size_t list, std::size_t place) {
            return (of.lists[list].places[place] - 20) / std::pow(of.lists[list].deviation, 2);
        };
        return part(0, 0) + part(1, 1) + part(2, 1);
    };
    std::vector<double> without, with;
    for (int i = 0; i < trials; ++i) {
        without.push_back(score(count(rows, charged, i)));
        with.push_back(score(count(more, charged, trials + i)));
    }
    std::sort(without.begin(), without.end());
    std::sort(with.begin(), with.end());
    double worst = 0;
    for (int i = 1; i < 40; ++i) {
        const double cut = without[static_cast<std::size_t>(trials * i / 40)];
        const auto above = [&](const auto& all) {
            return static_cast<double>(all.end() - std::upper_bound(all.begin(), all.end(), cut)) / trials;
        };
        const double p = above(with), q = above(without);
        worst = std::max({worst, p - std::exp(epsilon) * q, (1 - q) - std::exp(epsilon) * (1 - p)});
    }
    CHECK(worst < delta + 0.03);  // 0.35 where the fifty rows count in full
    CHECK(worst > -0.05);         // and it is no weaker than it was paid for
}

TEST_CASE("of a unit's rows so many are chosen, each as likely as another") {
    std::vector<int> chosen(20);
    constexpr int trials = 2000;
    for (std::int64_t seed = 0; seed < trials; ++seed) {
        row_choice choice(most_rows, run_key::insecure_from_seed(seed));
        for (int i = 0; i < 20; ++i) choice.see("Ada");
        for (int i = 0; i < 3; ++i) choice.see("Bob");
        const auto of_unit = choice.finish();
        REQUIRE(of_unit.size() == 23);
        CHECK(std::count(of_unit.begin(), of_unit.begin() + 20, 4) == 4);
        CHECK(std::count(of_unit.begin(), of_unit.begin() + 20, 0) == 16);
        CHECK(std::all_of(of_unit.begin() + 20, of_unit.end(), [](int one) { return one == 3; }));
        for (std::size_t i = 0; i < 20; ++i) chosen[i] += of_unit[i] > 0 ? 1 : 0;
    }
    for (const int each : chosen) CHECK(std::abs(each - 400) < 5 * 18);  // deviation √(2000·0.2·0.8)
}

TEST_CASE("counts that were not charged for, or twice, are a bug") {
    unit_counts open({{.places = 0, .share = 1}}, 1);
    CHECK_THROWS_AS(open.finish(paid(1, 1e-6, false), run_key::from_system()), rldp::error);
    unit_counts once({{.places = 2, .share = 1}}, 2);
    CHECK_THROWS_AS(once.add(std::vector<row_place>{std::size_t{0}}, 3), rldp::error);
    CHECK_THROWS_AS(once.add(std::vector<row_place>{std::string_view("a")}, 1), rldp::error);
    once.finish(paid(1, 1e-6, false), run_key::from_system());
    CHECK_THROWS_AS(once.finish(paid(1, 1e-6, false), run_key::from_system()), rldp::error);
    CHECK_THROWS_AS(unit_counts({{.places = 1, .share = 0.7}, {.places = 1, .share = 0.7}}, 1), rldp::error);
}
