#include <atomic>
#include <stdexcept>

#include "data/units/corpus.hpp"
#include "tests/catch.hpp"
#include "tests/data/units/bytes_of.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

std::vector<unit> make_units(std::size_t n) {
    std::vector<unit> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back({i, {}, {}});
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = 0; r <= i % 3; ++r) out[i].records.push_back("record " + std::to_string(1000 * i + r));
    return out;
}

}  // namespace

TEST_CASE("long records lose their tail or their head") {
    const std::vector<unit> units{{1, {"abcdef", "ab"}, {}}, {2, {"xyz"}, {}}};
    const auto head = tokenise(units, encode_bytes, 3, false, 1), tail = tokenise(units, encode_bytes, 3, true, 1);
    CHECK(head.records == 3);
    CHECK(head.cut == 1);
    CHECK(tail.cut == 1);
    CHECK(head.units[0].records[0] == encode_bytes("abc"));
    CHECK(tail.units[0].records[0] == encode_bytes("def"));
    CHECK(tail.units[0].records[1] == encode_bytes("ab"));
    CHECK(tail.units[1].records[0] == encode_bytes("xyz"));
}

TEST_CASE("any number of threads gives the same tokens") {
    const auto units = make_units(500);
    const auto one = tokenise(units, encode_bytes, 9, true, 1), many = tokenise(units, encode_bytes, 9, true, 7);
    REQUIRE(many.units.size() == 500);
    CHECK(one.records == many.records);
    CHECK(one.cut == many.cut);
    CHECK(one.cut > 0);
    for (std::size_t i = 0; i < 500; ++i) REQUIRE(one.units[i].records == many.units[i].records);
    CHECK(tokenise({}, encode_bytes, 9, true, 4).units.empty());
}

TEST_CASE("a record of fewer than two tokens is left out, and its unit stays") {
    const std::vector<unit> units{{1, {"a", "abc"}, {}}, {2, {"", "b"}, {}}, {3, {"xy"}, {}}};
    const auto out = tokenise(units, encode_bytes, 9, false, 2);
    REQUIRE(out.units.size() == 3);
    CHECK(out.units[0].records.size() == 1);
    CHECK(out.units[0].records.at(0) == encode_bytes("abc"));
    CHECK(out.units[1].records.empty());
    CHECK(out.units[2].records.at(0) == encode_bytes("xy"));
}

TEST_CASE("the first failing unit's error comes out of the threads") {
    const auto units = make_units(300);
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> second_failed{false};  // the first unit fails only after the second has
        const auto late = [&](const std::string& text) -> std::vector<std::int32_t> {
            if (text == "second") second_failed = true, second_failed.notify_all();
            second_failed.wait(false);
            throw std::logic_error(text);
        };
        CHECK_THROWS_WITH(tokenise({{1, {"first"}, {}}, {2, {"second"}, {}}}, late, 9, false, 2), "first");
    }
    const auto broken = [](const std::string&) -> std::vector<std::int32_t> { throw std::logic_error("encoder"); };
    CHECK_THROWS_AS(tokenise(units, broken, 9, false, 4), std::logic_error);
    CHECK(has(refusal([&] { tokenise(units, encode_bytes, 1, false, 4); }), "a bug in rldp"));
    CHECK(has(refusal([&] { tokenise(units, encode_bytes, 9, false, 0); }), "a bug in rldp"));
}
