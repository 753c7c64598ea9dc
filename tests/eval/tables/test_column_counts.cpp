// Public places of a column's cells, and distances of noised counts.
#include "eval/tables/column_counts.hpp"

#include <cmath>
#include <random>

#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;

namespace {

const auto how = data::parse_template(R"({
  "missing": ["", "?"],
  "columns": {"sex": {"values": {"1": "female", "2": "male", "F": "female"}}, "price": {"decimal": ","}},
  "schema": [{"column": "sex", "category": ["1", "2"]},
             {"column": "price", "number": [0, 300], "step": 0.5},
             {"column": "rooms", "integer": [1, 4]},
             {"column": "day", "date": ["2020-01-01", "2021-12-31"], "format": "%d.%m.%Y"},
             {"column": "note", "text": 50},
             {"column": "icd", "code": "[A-Z][0-9]{2}"}]})",
                                      "a template");

eval::column_places places(std::size_t column) {
    return {how, how.schema->at(column)};
}

}  // namespace

TEST_CASE("cells stand at places that follow from the schema alone") {
    const auto sex = places(0), price = places(1), rooms = places(2), day = places(3);
    CHECK(sex.size() == 4);
    CHECK(sex.find("1") == 0);
    CHECK(sex.find("F") == 0);  // told alike
    CHECK(sex.find("2") == 1);
    CHECK(sex.find("diverse") == 2);
    CHECK(sex.find("?") == 3);
    CHECK(price.size() == 14);
    CHECK(price.find("0") == 0);
    CHECK(price.find("300") == 11);
    CHECK(price.find("24,5") == 0);
    CHECK(price.find("25,5") == 1);
    CHECK(price.find("300,5") == 12);
    CHECK(price.find("-1") == 12);
    CHECK(price.find("cheap") == 12);
    CHECK(price.find("") == 13);
    CHECK(rooms.size() == 6);
    CHECK(rooms.find("4") == 3);
    CHECK(rooms.find("2.0") == 4);
    CHECK(day.find("01.01.2020") == 0);
    CHECK(day.find("31.12.2021") == 11);
    CHECK(day.find("01.01.2022") == 12);
    CHECK(day.find("2020-01-01") == 12);
    CHECK_FALSE(eval::column_places::has(how.schema->at(4).type));
    CHECK_FALSE(eval::column_places::has(how.schema->at(5).type));
}

TEST_CASE("a distance's interval holds the distance without noise, and says something") {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    constexpr std::size_t k = 50;
    constexpr double units = 20'000, deviation = 40, of_number = 60;
    for (const double shift : {0.0, 0.1, 0.4}) {
        std::vector<double> real(k), made(k);
        for (std::size_t i = 0; i < k; ++i) {
            real[i] = units / k;
            made[i] = 1 + (i % 2 ? shift : -shift);
        }
        const double distance = shift / 2;
        int held = 0;
        double width = 0, seen = 0;
        constexpr int trials = 400;
        for (int trial = 0; trial < trials; ++trial) {
            auto noised = real;
            for (auto& each : noised) each += deviation * normal(random);
            const auto found = eval::compute_distance({.counts = noised,
                                                       .deviation = deviation,
                                                       .units = units + of_number * normal(random),
                                                       .units_deviation = of_number},
                                                      made);
            CHECK(found.low <= found.estimate);
            CHECK(found.estimate <= found.high);
            held += found.low <= distance && distance <= found.high ? 1 : 0;
            width += (found.high - found.low) / trials;
            seen += found.estimate / trials;
        }
        CHECK(held >= trials * 95 / 100);
        CHECK(width < 0.09);
        CHECK(seen >= distance - 1e-3);  // noise makes it larger
        CHECK(seen <= distance + 0.05);
    }
    const std::vector<double> some = {3, 4}, exact = {1, 1};
    const auto nothing =
        eval::compute_distance({.counts = some, .deviation = 5, .units = 7, .units_deviation = 7}, exact);
    CHECK(nothing.low == 0);
    CHECK(nothing.high == 1);
    const std::vector<double> a = {1000, 0}, b = {0, 5};
    CHECK(eval::compute_distance({.counts = a, .deviation = 1e-9, .units = 1000, .units_deviation = 0}, b).low ==
          Approx(1).epsilon(1e-6));
}
