#include "eval/audit/statistics/secrets.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace rldp::eval;

TEST_CASE("secrets are 1 to 10 upper-case letters and digits") {
    for (const char* yes : {"A", "Z", "0", "9", "AZ09BY18CX"}) CHECK(secret_like(yes));
    for (const char* no : {"", "ABCDEFGHIJK", "a", "A B", "A\n", "@", "[", "/", ":", "\xc3\x84"})
        CHECK_FALSE(secret_like(no));
}

TEST_CASE("the similarity of a pair counts each substring once") {
    // ABAB: {A, B}, {AB, BA}, {ABA, BAB}, {ABAB}. ABC: {A, B, C}, {AB, BC}, {ABC}, {}.
    const auto found = *jaccard({"ABAB"}, {"ABC"});
    CHECK(found[0].mean == Approx(2.0 / 3));
    CHECK(found[1].mean == Approx(1.0 / 3));
    CHECK(found[2].mean == 0);
    CHECK(found[3].mean == 0);
    for (const auto& one : found) CHECK(one.deviation == 0);
    const auto same = *jaccard({"QW3RT"}, {"QW3RT"});
    for (const auto& one : same) CHECK(one.mean == 1);
    CHECK((*jaccard({"ABCD"}, {"ABCE"}))[3].mean == 0);  // a substring is told by its last character
    CHECK((*jaccard({"ABCD"}, {"EBCD"}))[3].mean == 0);  // and by its first
    CHECK((*jaccard({"AABCDB"}, {"AABCDC"}))[3].mean == Approx(2.0 / 4));
}

TEST_CASE("mean and deviation are over all pairs, equal strings as often as they are there") {
    // With AB: 1, 1, 1/3, 0; with C: 0, 0, 1/2, 1.
    const auto found = (*jaccard({"AB", "BA", "BC", "C"}, {"AB", "C"}))[0];
    const double mean = (1 + 1 + 1.0 / 3 + 0.5 + 1) / 8;
    const double square = (1 + 1 + 1.0 / 9 + 0.25 + 1) / 8;
    CHECK(found.mean == Approx(mean));
    CHECK(found.deviation == Approx(std::sqrt(square - mean * mean)));
    const auto repeated = *jaccard({"AB", "XY", "AB", "AB"}, {"AB"});
    CHECK(repeated[0].mean == 0.75);
    CHECK(repeated[0].deviation == Approx(std::sqrt(0.75 * 0.25)));
    CHECK((*jaccard({"XY"}, {"AB", "XY", "AB", "AB"}))[1].mean == 0.25);
}

TEST_CASE("strings too short for any substring are not alike") {
    const auto found = *jaccard({"A"}, {"A"});
    CHECK(found[0].mean == 1);
    for (std::size_t n = 2; n <= 4; ++n) CHECK(found[n - 1].mean == 0);
}

TEST_CASE("without a pair there is no similarity") {
    CHECK_FALSE(jaccard({}, {"A"}));
    CHECK_FALSE(jaccard({"A"}, {}));
}
