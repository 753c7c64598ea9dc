// Counts over all units of a table, beside runs in its book.
#include <cmath>
#include <filesystem>

#include "base/files.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/counts_charge.hpp"
#include "tests/catch.hpp"
#include "tests/privacy/spending/book_runs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;
using namespace rldp::privacy::testing;

namespace {

const counts_claim domains{
    .what = "domains for /tables/one.json", .unit = "record", .epsilon = 0.5, .delta = 1e-6, .selects = true};

}  // namespace

TEST_CASE("counts add up with runs of any split, and compose with one") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    enter(place, run("a"));
    const auto charged = enter_counts(place, domains);
    CHECK(charged.price().noise_multiplier == price_counts(0.5, 1e-6, true).noise_multiplier);
    const auto book = read_book(place);
    REQUIRE(book.runs.size() == 2);
    CHECK(book.runs[1].place == domains.what);
    CHECK(book.runs[1].split.empty());
    const auto sum = compute_sums(book).at(0);
    CHECK(sum.runs == 2);
    CHECK(*sum.epsilon_guaranteed == Approx(1.4));
    CHECK(sum.delta == Approx(1.1e-5));
    CHECK(sum.split == book.runs[0].split);
    auto together = steps;
    together.push_back({charged.price().noise_multiplier, 1, 1});
    CHECK(*sum.pld == Approx(make_accountant("pld")->epsilon(together, 1.1e-5 - 5e-7)).epsilon(1e-5));
    CHECK(*sum.pld < 1.1);  // the run alone promises 0.9
    // With a run of another split they can't compose with both.
    enter(place, run("b"), {.split = "another split"});
    const auto apart = compute_sums(read_book(place)).at(0);
    CHECK(*apart.epsilon_guaranteed == Approx(2.3));
    CHECK(apart.split.empty());
    CHECK_FALSE(apart.of_all);
    enter_counts(scratch / "other", domains);
    CHECK(compute_sums(read_book(scratch / "other")).at(0).of_all);
    CHECK(*compute_sums(read_book(scratch / "other")).at(0).pld == Approx(0.5).epsilon(1e-5));
}

TEST_CASE("looks at held-out units compose with counts, too") {
    const scratch_directory scratch;
    auto looking = run("a", 2);
    looking.header.looks = {3, noise_of_looks(3, 2, 1e-5)};
    enter(scratch / "book", looking);
    const auto charged = enter_counts(scratch / "book", domains);
    const double mu = std::sqrt(3 / std::pow(looking.header.looks.noise_multiplier, 2) +
                                1 / std::pow(charged.price().noise_multiplier, 2));
    CHECK(*compute_sums(read_book(scratch / "book")).at(0).pld ==
          Approx(gaussian_epsilon(mu, 1.1e-5 - 5e-7)).epsilon(1e-5));
}

TEST_CASE("runs that show raw figures have a sum with counts, each of its own split") {
    const scratch_directory scratch;
    enter(scratch / "book", run("a"), {.split = "one", .held_out = rldp::publication::raw});
    enter(scratch / "book", run("b"), {.split = "two", .held_out = rldp::publication::raw});
    enter_counts(scratch / "book", domains);
    const auto sums = compute_sums(read_book(scratch / "book"));
    REQUIRE(sums.size() == 2);
    for (const auto& sum : sums) {
        CHECK(sum.runs == 2);
        CHECK(*sum.epsilon_guaranteed == Approx(1.4));
    }
}

TEST_CASE("a total refuses counts before they are entered") {
    const scratch_directory scratch;
    const auto place = scratch / "book";
    set_total(place, {.epsilon_budget = 1, .delta = 1e-4, .unit = "record"});
    enter_counts(place, domains);
    enter_counts(place, domains);
    const auto before = rldp::read_file(place / "book.jsonl");
    CHECK(has(refusal([&] { enter_counts(place, domains); }), "3 runs come to ε = 1.5 (added up), and the total is 1"));
    CHECK(has(refusal([&] { enter(place, run("a")); }), "and the total is 1"));
    auto of_persons = domains;
    of_persons.unit = "patient";
    CHECK(has(refusal([&] { enter_counts(place, of_persons); }), "counts by patient, and no total is one for"));
    CHECK(rldp::read_file(place / "book.jsonl") == before);
    set_total(place, {.epsilon_budget = 2, .delta = 1e-4, .unit = "patient", .records_per_unit = 2});
    CHECK(has(refusal([&] { enter_counts(place, of_persons); }), "priced for 2 records"));
}
