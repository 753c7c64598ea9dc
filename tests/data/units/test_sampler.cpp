#include <cmath>
#include <limits>
#include <random>

#include "data/units/split_and_sampling.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

/// Pearson's statistic of `draws` draw sizes at rate `drawn` against Binomial(n, claimed), cells of at least five
/// expected draws, divided by its degrees of freedom.
double misfit(std::int64_t n, double drawn, double claimed, int draws, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::vector<double> sizes(static_cast<std::size_t>(n) + 1);
    for (int i = 0; i < draws; ++i) ++sizes[poisson_draw(n, drawn, [&] { return engine(); }).size()];
    double statistic = 0, expected = 0, seen = 0, cells = -1;
    double mass = std::pow(1 - claimed, static_cast<double>(n));  // Binomial(k), from k = 0 upwards
    for (std::int64_t k = 0; k <= n; ++k) {
        expected += mass * draws;
        seen += sizes[static_cast<std::size_t>(k)];
        if (expected >= 5) {
            statistic += (seen - expected) * (seen - expected) / expected;
            expected = seen = 0;
            ++cells;
        }
        mass *= static_cast<double>(n - k) / static_cast<double>(k + 1) * claimed / (1 - claimed);
    }
    return statistic / cells;
}

}  // namespace

TEST_CASE("draw sizes are binomial at the rate, and at no other") {
    CHECK(misfit(64, .1, .1, 20'000, 1) < 3);
    CHECK(misfit(64, .5, .5, 20'000, 2) < 3);
    CHECK(misfit(400, .01, .01, 20'000, 3) < 3);
    CHECK(misfit(64, .15, .1, 20'000, 4) > 10);
    CHECK(misfit(64, .105, .1, 20'000, 5) > 3);
}

TEST_CASE("every unit has its own word and its own chance") {
    std::vector<std::uint64_t> words{0, 1ull << 62, (1ull << 63) - 1, 1ull << 63, ~0ull};
    std::size_t used = 0;
    const auto next = [&] { return words[used++]; };
    CHECK(poisson_draw(5, .5, next) == std::vector<std::int64_t>{0, 1, 2});
    CHECK(used == 5);
    used = 0;
    CHECK(poisson_draw(5, .25, next) == std::vector<std::int64_t>{0});
    used = 0;
    CHECK(poisson_draw(5, 0, next).empty());
    CHECK(used == 5);
    used = 0;
    CHECK(poisson_draw(5, 1, next) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
    CHECK(used == 5);
    used = 0;
    CHECK(poisson_draw(1, 1e-18, next).size() == 1);  // 18 words of 2⁶⁴
    CHECK(poisson_draw(0, .5, next).empty());
    CHECK(used == 1);
}

TEST_CASE("no unit is favoured") {
    std::mt19937_64 engine(6);
    std::vector<double> hits(50);
    for (int i = 0; i < 20'000; ++i)
        for (const auto unit : poisson_draw(50, .2, [&] { return engine(); })) ++hits[static_cast<std::size_t>(unit)];
    for (const double h : hits) CHECK(std::abs(h - 4000) < 5 * std::sqrt(20'000 * .2 * .8));
}

TEST_CASE("no unit takes part twice in a round, whichever steps are lost") {
    std::mt19937_64 engine(8);
    for (int i = 0; i < 50; ++i) {
        const auto bands = std::uniform_int_distribution<std::int64_t>(1, 9)(engine);
        const auto units = std::uniform_int_distribution<std::size_t>(0, 60)(engine);
        std::vector<std::uint16_t> groups;
        for (std::size_t u = 0; u < units; ++u)
            groups.push_back(static_cast<std::uint16_t>(engine() % static_cast<std::uint64_t>(bands)));
        std::vector<std::uint64_t> last(units);  // the seq at which each unit was drawn
        std::vector<int> drawn(units), rounds(units);
        for (std::uint64_t seq = 1; seq <= 40; ++seq) {
            if (engine() % 5 == 0) continue;  // charged and lost: the turns go on
            const auto group = find_group_of_step(seq, bands);
            REQUIRE(group < bands);
            for (const auto i_drawn : draw_from_group(groups, group, 0.7, [&] { return engine(); })) {
                const auto unit = static_cast<std::size_t>(i_drawn);
                REQUIRE(groups[unit] == group);
                REQUIRE((last[unit] == 0 || seq - last[unit] >= static_cast<std::uint64_t>(bands)));
                last[unit] = seq;
                ++drawn[unit];
            }
        }
        for (const int times : drawn) CHECK(times <= (40 + bands - 1) / bands);
    }
}

TEST_CASE("a group's units are drawn at the rate, each by its own word, and others never") {
    const std::vector<std::uint16_t> groups{0, 1, 0, 1, 1};
    const std::vector<std::uint64_t> words{0, 1ull << 62, 1ull << 63, 1ull << 63, 0};
    std::size_t used = 0;
    const auto next = [&] { return words[used++]; };
    CHECK(draw_from_group(groups, 0, .5, next) == std::vector<std::int64_t>{0});
    CHECK(used == 5);
    used = 0;
    CHECK(draw_from_group(groups, 1, .5, next) == std::vector<std::int64_t>{1, 4});
    CHECK(find_group_of_step(1, 1) == 0);
    CHECK(find_group_of_step(6, 4) == 2);
    CHECK(draw_from_group({}, 0, 1, next).empty());
    std::mt19937_64 engine(9);
    std::vector<double> hits(50);
    std::vector<std::uint16_t> halves(50);
    for (std::size_t i = 0; i < 50; ++i) halves[i] = static_cast<std::uint16_t>(i % 2);
    for (int i = 0; i < 20'000; ++i)
        for (const auto unit : draw_from_group(halves, 1, .4, [&] { return engine(); }))
            ++hits[static_cast<std::size_t>(unit)];
    for (std::size_t i = 0; i < 50; ++i)
        CHECK(std::abs(hits[i] - (i % 2 == 1 ? 8000 : 0)) < (i % 2 == 1 ? 5 * std::sqrt(20'000 * .4 * .6) : 0.5));
}

TEST_CASE("rates that are none are refused") {
    const auto refused = [](std::int64_t n, double rate) {
        return refusal([&] { poisson_draw(n, rate, [] { return std::uint64_t{0}; }); });
    };
    const double infinite = std::numeric_limits<double>::infinity();
    for (const double rate : {-1e-9, 1.0000001, infinite, -infinite, std::nan("")})
        CHECK(has(refused(3, rate), "a bug in rldp"));
    CHECK(has(refused(-1, .5), "a bug in rldp"));
}
