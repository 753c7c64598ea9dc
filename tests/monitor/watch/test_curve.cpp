#include "monitor/watch/history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.hpp"

using namespace rldp::monitor;

namespace {

bool has_point(const std::vector<point>& all, const point& one) {
    return std::any_of(all.begin(), all.end(),
                       [&](const point& other) { return other.step == one.step && other.value == one.value; });
}

curve noise(std::int64_t steps, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> value;
    curve out;
    for (std::int64_t step = 0; step < steps; ++step) out.add({step, value(random)});
    return out;
}

}  // namespace

TEST_CASE("a curve keeps its points in the order of steps, each step once, and no number that is none") {
    curve subject;
    for (const std::int64_t step : {3, 1, 2}) subject.add({step, 1.0 * static_cast<double>(step)});
    subject.add({2, 7});
    subject.add({4, std::nan("")});
    subject.add({4, std::numeric_limits<double>::infinity()});
    REQUIRE(subject.points().size() == 3);
    CHECK(subject.points()[1].value == 7);
    CHECK(subject.last()->step == 3);
    CHECK_FALSE(curve().last());
}

TEST_CASE("a thinned curve has the ends and the extremes of the whole, in order, and few points") {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const auto subject = noise(100'000, seed);
        const auto& all = subject.points();
        for (const std::size_t most : {8U, 100U, 1200U}) {
            const auto thin = subject.thinned(0, 200'000, most);
            CHECK(thin.size() <= most);
            CHECK(thin.size() > most / 2);
            const auto by_value = [](const point& a, const point& b) { return a.value < b.value; };
            const auto [least, greatest] = std::minmax_element(all.begin(), all.end(), by_value);
            for (const auto& kept : {all.front(), all.back(), *least, *greatest}) CHECK(has_point(thin, kept));
            CHECK(std::is_sorted(thin.begin(), thin.end(),
                                 [](const point& a, const point& b) { return a.step < b.step; }));
            for (const auto& one : thin) CHECK(all[static_cast<std::size_t>(one.step)].value == one.value);
        }
    }
}

TEST_CASE("a range of a curve is whole where it has few points") {
    const auto subject = noise(1000, 4);
    const auto part = subject.thinned(100, 199, 100);
    REQUIRE(part.size() == 100);
    CHECK(part.front().step == 100);
    CHECK(part.back().step == 199);
    CHECK(subject.thinned(2000, 3000, 100).empty());
    CHECK(subject.thinned(500, 400, 100).empty());
}

TEST_CASE("a curve of a million steps is bounded, and keeps its extremes") {
    curve subject;
    for (std::int64_t step = 0; step < 1'000'000; ++step) subject.add({step, step == 123'456 ? 1e6 : 0});
    CHECK(subject.points().size() <= curve::most_points);
    CHECK(has_point(subject.points(), {123'456, 1e6}));
    CHECK(subject.last()->step == 999'999);
    CHECK(subject.points().front().step == 0);
}
