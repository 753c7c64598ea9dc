// What is said of tables that copy, and of tables that don't.
#include "eval/tables/judgement.hpp"

#include "eval/tables/classifier.hpp"
#include "tests/catch.hpp"
#include "tests/eval/tables/made_up_tables.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::eval;

TEST_CASE("a table that copies training rows gives them away") {
    const auto tables = beside_draws(draw_rows(400, 1));
    const auto found = judge(tables, 2);
    REQUIRE(found.membership.attack);
    CHECK(found.membership.attack->low > 0.9);
    CHECK(judge_membership(found.membership) == membership_verdict::beyond_chance);
    CHECK(found.near.training_near->rate() == 1);
    CHECK(found.near.nearer_to_training > 0.85);  // a quarter are of training rows beyond as many as are held out
    CHECK(found.near.to_training == 0);
    REQUIRE(found.inference.size() == 1);
    CHECK(found.inference[0].members_by_table == 1);
    CHECK(found.inference[0].low > 0.2);
    CHECK(found.inference[0].members_by_others < 0.8);
    CHECK(found.columns[1].variation->made_up == found.columns[1].variation->real);  // the same rows
    CHECK(found.unique.made_up > 0.9);
}

TEST_CASE("an independent table does not, however like the records it is") {
    const auto found = judge(beside_draws(draw_rows(5000, 3)), 2);
    REQUIRE(found.membership.attack);
    CHECK(found.membership.attack->low < 0.5);
    CHECK(found.membership.attack->high > 0.5);
    CHECK(judge_membership(found.membership) == membership_verdict::within_chance);
    CHECK(found.inference[0].low < 0);
    CHECK(found.inference[0].high > 0);
    CHECK(found.rows == 400);  // as many as training rows
    CHECK(found.columns[0].variation->made_up < 0.2);
    CHECK(found.pairs.difference.made_up < 0.1);
    CHECK(*found.pairs.real[0][1] > 0.5);
    CHECK_FALSE(found.pairs.real[0][0]);
}

TEST_CASE("an unlike table is seen to be unlike") {
    auto rows = draw_rows(400, 4);
    for (auto& size : rows[0]) size = 40;  // beyond all that is there
    const auto found = judge(beside_draws(rows), 1);
    CHECK(found.columns[0].variation->made_up == Approx(1));
    CHECK(found.columns[0].bins.back().name == "others");
    CHECK(found.columns[0].bins.back().share.made_up == 1);
    CHECK(found.pairs.difference.made_up > 0.3);  // a column of one value has no association
}

TEST_CASE("units count once, by their nearest row, and too few say nothing") {
    auto tables = beside_draws(draw_rows(400, 1));
    for (auto& unit : tables.training.unit) unit /= 20;
    for (auto& unit : tables.held_out.unit) unit /= 20;
    const auto found = judge(tables, 1);
    CHECK(found.membership.members == 20);
    CHECK(found.membership.others == 15);
    CHECK(judge_membership(found.membership) == membership_verdict::too_few);
    CHECK(found.inference[0].members == 20);
}

TEST_CASE("classifiers run in a process of their own, or the report says what to install") {
    auto tables = beside_draws(draw_rows(400, 3));
    std::vector<std::string> left_out;
    CHECK_FALSE(judge_target(tables, left_out));
    REQUIRE(left_out.size() == 1);
    CHECK(has(left_out[0], "names no \"target\""));
    left_out.clear();
    tables.target = 1;
    const auto found = judge_target(tables, left_out);
    if (!found) {
        REQUIRE(left_out.size() == 1);
        CHECK(has(left_out[0], "python3-sklearn"));
        return;
    }
    REQUIRE(found->classifiers.size() == 2);
    CHECK(found->rows == 400);
    CHECK(found->held_out == 300);
    for (const auto& one : found->classifiers) {
        CHECK(one.real.auc > 0.75);
        CHECK(one.made_up.auc > 0.75);
    }
    // Made-up rows of which nothing follows teach nothing.
    for (auto& kind : tables.made_up[1]) kind = 0;
    const auto none = judge_target(tables, left_out);
    REQUIRE(none);
    CHECK(none->classifiers[0].made_up.auc == Approx(0.5));
    tables.target = 0;  // a number: above the median or not
    const auto number = judge_target(tables, left_out);
    REQUIRE(number);
    CHECK(number->classes.size() == 2);
    CHECK(number->classifiers[0].real.interval);
    CHECK(number->classifiers[0].real.interval->low > 0.6);
}
