// Public grids, and what noised counts on them tell of a column.
#include <nlohmann/json.hpp>

#include <map>
#include <random>

#include "data/domains/open_column.hpp"
#include "data/grammar/dates.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::data;

namespace {

/// Lowest and highest of the bucket that a number stands in.
std::pair<std::int64_t, std::int64_t> around(const std::string& number, std::size_t level, std::int64_t step = 1,
                                             int decimals = 0) {
    return numbers_in({level, place_number(number).value()[level]}, step, decimals);
}

using ends = std::pair<std::int64_t, std::int64_t>;

/// As many cells of each value, with noise of that deviation.
std::vector<noised_level> count(const open_column& column, const std::map<std::string, double>& cells, double deviation,
                                std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, deviation);
    std::vector<noised_level> out;
    for (std::size_t level = 0; level < column.where().levels(); ++level) {
        auto& into = out.emplace_back(noised_level{std::vector<double>(column.where().size(level)), deviation});
        for (auto& each : into.counts) each = noise(random);
        for (const auto& [cell, many] : cells)
            if (const auto value = read_open_value(cell, column)) into.counts[value->place[level]] += many;
    }
    return out;
}

nlohmann::json find(const std::string& said, const std::map<std::string, double>& cells, double deviation = 10,
                    std::optional<std::size_t> decimals = {}) {
    const auto column = read_open_column(said);
    const auto found = find_ends(column.where(), count(column, cells, deviation));
    if (!found) return nullptr;
    auto out = nlohmann::json(write_range(column, *found, decimals));
    out.erase("column");
    return out;
}

}  // namespace

TEST_CASE("numbers stand in buckets of their power of ten and their first three digits") {
    CHECK(number_grid.size(0) == 49);
    CHECK(number_grid.size(3) == 49 * 900);
    CHECK(around("4321", 0) == ends{1000, 9999});
    CHECK(around("4321", 1) == ends{4000, 4999});
    CHECK(around("4321", 2) == ends{4300, 4399});
    CHECK(around("4321", 3) == ends{4320, 4329});
    CHECK(around("-4321", 3) == ends{-4329, -4320});
    CHECK(around("7", 3) == ends{7, 7});
    CHECK(around("0", 2) == ends{0, 0});
    CHECK(around("0007.0", 1) == ends{7, 7});
    CHECK(around("0.0523", 1, 1, 4) == ends{500, 599});
    CHECK(around("5.01", 3, 1, 2) == ends{501, 501});
    CHECK(around("5.01", 2, 1, 2) == ends{500, 509});
    CHECK(around("5.01", 1, 50, 2) == ends{500, 550});  // multiples of 0.5
    CHECK(around("0.123", 3, 5, 1) == ends{0, 0});      // none in it
    CHECK(around("0.0000000001", 0) == ends{0, 0});
    for (const char* none : {"1e5", "", "-", "1,5", "x", "1000000000000000", "12 "}) CHECK_FALSE(place_number(none));
    CHECK(place_number("999999999999999.5").has_value());
    // The order of buckets is that of values.
    const std::vector<std::string> ascending = {"-20", "-19.9", "-0.5", "-0.0001", "0",   "0.00011",
                                                "0.9", "1",     "9.99", "10",      "123", "124"};
    for (std::size_t i = 1; i < ascending.size(); ++i)
        CHECK(place_number(ascending[i - 1]).value()[3] < place_number(ascending[i]).value()[3]);
}

TEST_CASE("every number's bucket holds it and lies within the one above") {
    std::mt19937_64 random(3);
    for (int trial = 0; trial < 2000; ++trial) {
        std::int64_t value = static_cast<std::int64_t>(random() % 1'000'000'000'000);
        for (auto cut = random() % 12; cut > 0; --cut) value /= 10;
        if (random() % 2) value = -value;
        auto outer = ends{-1'000'000'000'000'000, 1'000'000'000'000'000};
        for (std::size_t level = 0; level < number_grid.levels(); ++level) {
            const auto within = around(std::to_string(value), level);
            CHECK(within.first <= value);
            CHECK(value <= within.second);
            CHECK(within.first >= outer.first);
            CHECK(within.second <= outer.second);
            outer = within;
        }
    }
}

TEST_CASE("days stand in decades, years and months") {
    const auto place = place_day(read_iso_date("2024-02-29").value());
    const auto written = [&](std::size_t level) {
        const auto [first, last] = days_in({level, place[level]});
        return write_date(first, "%Y-%m-%d") + " " + write_date(last, "%Y-%m-%d");
    };
    CHECK(written(0) == "2020-01-01 2029-12-31");
    CHECK(written(1) == "2024-01-01 2024-12-31");
    CHECK(written(2) == "2024-02-01 2024-02-29");
    CHECK(days_in({0, 0}).first == read_iso_date("0001-01-01"));
    CHECK(days_in({0, 999}).second == read_iso_date("9999-12-31"));
    CHECK(read_date("29.02.2024", "%d.%m.%Y") == read_iso_date("2024-02-29"));
    CHECK(read_date("2024/02", "%Y/%m") == read_iso_date("2024-02-01"));
    for (const char* none : {"30.02.2024", "29.2.2024", "29.02.2024 ", "29.02.24", "2024-02-29", ""})
        CHECK_FALSE(read_date(none, "%d.%m.%Y"));
}

TEST_CASE("ends are found where counts stand out of the noise, and no farther") {
    // Two hundred units at either end; one unit far away is not seen.
    std::map<std::string, double> ages;
    for (int age = 18; age <= 89; ++age) ages[std::to_string(age)] = 200;
    CHECK(find("age=integer", ages)["integer"] == nlohmann::json{18, 89});
    ages["4000000"] = 1;
    CHECK(find("age=integer", ages)["integer"] == nlohmann::json{18, 89});
    ages["4000000"] = 200;
    CHECK(find("age=integer", ages)["integer"] == nlohmann::json{18, 4009999});
    CHECK(find("age=integer:5", {{"20", 500}, {"35", 500}}) == nlohmann::json{{"integer", {20, 35}}, {"step", 5}});
    CHECK(find("t=number:0.1", {{"-12.5", 500}, {"0", 500}, {"38.9", 500}}) ==
          nlohmann::json{{"number", {-12.5, 38.9}}, {"step", 0.1}});
    CHECK(find("t=number", {{"0.25", 500}, {"3.75", 500}}, 10, 2) ==
          nlohmann::json{{"number", {0.25, 3.75}}, {"step", 0.01}});
    CHECK(find("t=number", {{"3", 500}, {"700", 500}}, 10, 0) == nlohmann::json{{"number", {3, 700}}, {"step", 1}});
    CHECK(find("day=date:%d.%m.%Y", {{"05.03.2019", 500}, {"24.12.2024", 500}}) ==
          nlohmann::json{{"date", {"2019-03-01", "2024-12-31"}}, {"format", "%d.%m.%Y"}});
    // Spread thinly, a bucket is kept whole where nothing within it stands out.
    std::map<std::string, double> thin;
    for (int i = 100; i < 1000; ++i) thin[std::to_string(i)] = 0.07;
    CHECK(find("n=integer", thin)["integer"] == nlohmann::json{100, 999});
    CHECK(find("n=integer", {{"5", 20}}).is_null());
}

TEST_CASE("noise alone is hardly ever taken for values") {
    const auto column = read_open_column("n=number:0.01"), date = read_open_column("d=date");
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed)
        for (const auto& each : {column, date}) wrong += find_ends(each.where(), count(each, {}, 10, seed)) ? 1 : 0;
    CHECK(wrong <= 8);  // of 49 and of 1,000 buckets one is beyond 4 deviations with 0.2 and 3 %
}

TEST_CASE("what a column's owner says of its kind") {
    CHECK(read_open_column("cut=category").kind == open_kind::category);
    CHECK(read_open_column("a=b=integer").name == "a=b");
    CHECK(read_open_column("day=date:%Y=%m").format == "%Y=%m");
    CHECK(read_open_column("p=number").finds_decimals());
    CHECK_FALSE(read_open_column("p=number:0.01").finds_decimals());
    for (const auto& [said, why] :
         std::vector<std::pair<std::string, std::string>>{{"cut", "write COLUMN=KIND"},
                                                          {"=category", "write COLUMN=KIND"},
                                                          {"cut=category:a,b", "rldp init --type declares"},
                                                          {"age=integer:0:120", "rldp init --type declares"},
                                                          {"age=integer:0.5", "whole number"},
                                                          {"p=number:0", "is no step"},
                                                          {"p=number:x", "is no step"},
                                                          {"p=number:0.0000000001", "is no step"},
                                                          {"day=date:%H", "knows %Y, %m and %d only"},
                                                          {"note=text:100", "kinds whose domain is found"}})
        CHECK(has(refusal([&] { read_open_column(said); }), why));
    CHECK_FALSE(read_open_value("1.5", read_open_column("n=integer")));
    CHECK(read_open_value("1.50", read_open_column("n=number"))->decimals == 2);
    CHECK(has(refusal([] {
                  const auto day = read_open_column("d=date");
                  write_range(day, {{0, 100}, {0, 200}}, {});
              }),
              "spans more than"));
}
