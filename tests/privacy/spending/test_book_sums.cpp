// What the runs of a book come to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "privacy/spending/book.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/spending/book_runs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;
using namespace rldp::privacy::testing;

TEST_CASE("runs of a book add up, and compose to less") {
    const scratch_directory scratch;
    const auto place = scratch / "table.book";
    for (const std::string id : {"a", "b", "c"}) enter(place, run(id));
    const auto book = read_book(place);
    REQUIRE(book.runs.size() == 3);
    CHECK(book.runs[1].place == "/runs/b");
    CHECK(book.runs[0].data == book.runs[2].data);
    const auto sums = compute_sums(book);
    REQUIRE(sums.size() == 1);
    CHECK(*sums[0].epsilon_guaranteed == Approx(2.7));
    CHECK(sums[0].delta == Approx(3e-5));
    // What the accountant says of all steps at once, which is a test of its own against other engines.
    const std::vector<phase> together = {{1.1, 0.01, 300}};
    CHECK(*sums[0].pld == Approx(make_accountant("pld")->epsilon(together, 3e-5)).epsilon(1e-3));
    CHECK(*sums[0].pld < *sums[0].epsilon_guaranteed);
}

TEST_CASE("composed, runs cost the worse of their training and of their looks at held-out units") {
    const scratch_directory scratch;
    for (const char* id : {"a", "b"}) {
        auto looking = run(id, 2);
        looking.header.held_out = rldp::publication::noised;
        looking.header.looks = {3, noise_of_looks(3, 2, 1e-5)};
        enter(scratch / "book", looking);
    }
    const auto sum = compute_sums(read_book(scratch / "book")).at(0);
    const look_plan both{6, noise_of_looks(3, 2, 1e-5)};
    CHECK(*sum.epsilon_guaranteed == 4);
    CHECK(*sum.pld == Approx(compute_epsilon(both, 2e-5)));
    CHECK(*sum.pld > 2.5);  // its training alone composes to less than 1.4
    CHECK(make_accountant("pld")->epsilon(std::vector<phase>{{1.1, 0.01, 200}}, 2e-5) < 1.4);
}

TEST_CASE("a filter's steps are not composed, for what it released chose them") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    enter(scratch / "book", run("b", 2), {.promised = {}});
    const auto sum = compute_sums(read_book(scratch / "book")).at(0);
    CHECK(*sum.epsilon_guaranteed == Approx(2.9));
    CHECK(*sum.pld == Approx(2 + make_accountant("pld")->epsilon(steps, 1e-5)).epsilon(1e-3));
    enter(scratch / "filters", run("a", 2), {.promised = {}});
    CHECK(*compute_sums(read_book(scratch / "filters")).at(0).pld == Approx(2));
}

TEST_CASE("a run without guarantee takes that of all") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    auto open = run("b");
    open.header.insecure_reproducible = true;
    enter(scratch / "book", open);
    const auto sum = compute_sums(read_book(scratch / "book")).at(0);
    CHECK_FALSE(sum.epsilon_guaranteed);
    CHECK_FALSE(sum.pld);
    CHECK(has(refusal([&] { set_total(scratch / "book", {.epsilon_budget = 100, .delta = 0.1, .unit = "record"}); }),
              "/runs/b guarantees nothing"));
}

TEST_CASE("contracts of different units are summed apart") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"));
    auto people = run("b", 3);
    people.header.unit = "patient";
    enter(scratch / "book", people);
    const auto sums = compute_sums(read_book(scratch / "book"));
    REQUIRE(sums.size() == 2);
    CHECK(*sums[0].epsilon_guaranteed == Approx(0.9));
    CHECK(sums[1].unit == "patient");
    CHECK(*sums[1].epsilon_guaranteed == Approx(3));
}

TEST_CASE("where all protect whom they hold out, ε adds up over splits, and distributions within one") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    enter(place, run("b"), {.split = "another", .held_out = rldp::publication::none});
    enter(place, run("c"), {.split = "another"});
    const auto sums = compute_sums(read_book(place));
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].split.empty());
    CHECK(*sums[0].epsilon_guaranteed == Approx(2.7));
    const std::vector<phase> twice = {{1.1, 0.01, 200}};
    const auto apart = make_accountant("pld")->epsilon(steps, 1e-5) + make_accountant("pld")->epsilon(twice, 2e-5);
    CHECK(*sums[0].pld == Approx(apart).epsilon(1e-3));
    const std::vector<phase> together = {{1.1, 0.01, 300}};
    CHECK(*sums[0].pld > 1.05 * make_accountant("pld")->epsilon(together, 3e-5));
    CHECK_NOTHROW(set_total(place, {.epsilon_budget = 2.7, .delta = 3e-5, .unit = "record"}));
}

TEST_CASE("a run that shows raw figures adds up within its own split alone") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    enter(place, run("b"), {.split = "another", .held_out = rldp::publication::raw});
    CHECK(compute_sums(read_book(place)).size() == 2);
    CHECK(has(refusal([&] { set_total(place, {.epsilon_budget = 9, .delta = 1e-3, .unit = "record"}); }),
              "/runs/b shows raw figures of those that it holds out, and /runs/a splits the data otherwise"));
    enter(scratch / "one", run("a"));
    enter(scratch / "one", run("b"), {.held_out = rldp::publication::raw});
    const auto sums = compute_sums(read_book(scratch / "one"));
    REQUIRE(sums.size() == 1);
    CHECK(*sums[0].epsilon_guaranteed == Approx(1.8));
}

TEST_CASE("a total for persons prices runs by record for as many records as a person has") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a", 0.5));
    enter(place, run_by("patient", "b", 1), {.split = "of patients"});
    // 4 records: 4 · 0.5, and δ · (e² − 1)/(e^½ − 1).
    const double delta = 1e-5 * (std::exp(2.0) - 1) / (std::exp(0.5) - 1);
    CHECK(price_for_group(0.5, 1e-5, 4).delta == Approx(delta).epsilon(1e-9));
    CHECK(price_for_group(0, 1e-5, 4).delta == Approx(4e-5));
    const auto total = [&](double epsilon, double at, std::optional<std::int64_t> records) {
        set_total(place, {.epsilon_budget = epsilon, .delta = at, .unit = "patient", .records_per_unit = records});
    };
    CHECK(has(refusal([&] { total(2.99, 1e-3, 4); }),
              "2 runs, 1 of them by record and priced for 4 records, come to ε = 3 (added up)"));
    CHECK(has(refusal([&] { total(3, 1e-5 + 0.99 * delta, 4); }), "the δ of 2 runs"));
    total(3, 1e-5 + 1.01 * delta, 4);
    CHECK(has(refusal([&] { enter(place, run("c", 0.1)); }), "3 runs, 2 of them by record"));
    total(3.4, 1e-3, 4);
    CHECK_NOTHROW(enter(place, run("c", 0.1)));
    CHECK(has(refusal([&] { total(1e300, 0.5, 1000); }), "the δ of 3 runs"));  // e^500 of it
    SECTION("by distributions, the persons' own") {
        set_total(place, {.epsilon_budget = 3.39,
                          .delta = 1e-3,
                          .unit = "patient",
                          .by = composition_rule::pld,
                          .records_per_unit = 4});
    }
    SECTION("raw figures of those held out have no such sum") {
        enter(scratch / "raw", run("a"), {.held_out = rldp::publication::raw});
        enter(scratch / "raw", run_by("patient", "b", 1), {.split = "of patients"});
        CHECK(has(refusal([&] {
                      set_total(scratch / "raw",
                                {.epsilon_budget = 99, .delta = 0.1, .unit = "patient", .records_per_unit = 4});
                  }),
                  "shows raw figures"));
    }
    for (const auto records : {0, -1}) CHECK(has(refusal([&] { total(9, 1e-3, records); }), "--records-per-unit is"));
    CHECK(has(refusal([&] {
                  set_total(place, {.epsilon_budget = 9, .delta = 1e-3, .unit = "record", .records_per_unit = 4});
              }),
              "of a total for persons"));
}

TEST_CASE("without that there is a total for each unit, and none of a unit that has none") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    enter(place, run_by("patient", "b", 3), {.split = "of patients"});
    set_total(place, {.epsilon_budget = 2, .delta = 1e-3, .unit = "record"});
    CHECK(has(refusal([&] { enter(place, run_by("patient", "c")); }),
              "counts by patient, and no total is one for each patient"));
    set_total(place, {.epsilon_budget = 4, .delta = 1e-3, .unit = "patient"});
    CHECK_NOTHROW(enter(place, run("d")));
    CHECK_NOTHROW(enter(place, run_by("patient", "e")));
    CHECK(has(refusal([&] { enter(place, run("f")); }), "and the total for each record is 2"));
    CHECK(has(refusal([&] { enter(place, run_by("patient", "g")); }), "and the total for each patient is 4"));
    CHECK(read_book(place).totals.size() == 2);
}
