#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/catch.hpp"
#include "tests/eval/sample.hpp"

using namespace rldp::eval;

TEST_CASE("a run's summary survives JSON") {
    auto before = sample_summary();
    before.epsilon_guaranteed = std::numeric_limits<double>::infinity();
    before.tight_epsilon_as_released = 1.0 / 3;
    before.printed_formula_epsilon = 1.0 / 7;
    before.deck = {{1.0 / 9, 10}, {0.5, 20}};
    before.insecure_reproducible = true;
    before.warnings = {"one", "two \"quoted\""};
    before.controller = {"passed its gate"};
    before.table = {{"age", "sex"}, {{"41", "f"}, {"", "m"}}};
    const auto text = to_json(before);
    const auto after = parse_summary(text);
    CHECK(to_json(after) == text);
    CHECK(after.epsilon_guaranteed == before.epsilon_guaranteed);
    CHECK(after.deck == before.deck);
    CHECK(after.printed_formula_epsilon == before.printed_formula_epsilon);
    CHECK(after.tight_epsilon_as_released == before.tight_epsilon_as_released);
    CHECK(after.epsilon_spent == before.epsilon_spent);
    CHECK(after.upper_bound == before.upper_bound);
    CHECK(after.groups == before.groups);
    CHECK(after.warnings == before.warnings);
    CHECK(after.controller == before.controller);
    CHECK(after.table.columns == before.table.columns);
    CHECK(after.table.rows == before.table.rows);
    CHECK(after.perplexity_best == before.perplexity_best);
    CHECK(after.units == before.units);
    CHECK(after.insecure_reproducible);

    const auto json = nlohmann::json::parse(text);
    CHECK(json.at("guaranteed_epsilon") == "inf");
    CHECK(json.at("epsilon").at("pld") == 7.5);
}

TEST_CASE("what a summary does not know stays unknown") {
    auto before = sample_summary();
    before.perplexity_after.reset();
    const auto after = parse_summary(to_json(before));
    CHECK_FALSE(after.perplexity_after);
    CHECK_FALSE(after.tight_epsilon_as_released);
}

TEST_CASE("a text that is not UTF-8 does no harm to the summary") {
    auto summary = sample_summary();
    summary.warnings = {"bad byte \xff"};
    CHECK(parse_summary(to_json(summary)).warnings.size() == 1);
}

TEST_CASE("a summary with a key missing is refused") {
    CHECK_THROWS_AS(parse_summary("{}"), rldp::error);
    CHECK_THROWS_AS(parse_summary("no JSON"), rldp::error);
    auto short_row = nlohmann::json::parse(to_json(sample_summary()));
    short_row["table"] = {{"columns", {"age", "sex"}}, {"rows", {{"41"}}}};
    CHECK_THROWS_AS(parse_summary(short_row.dump()), rldp::error);
}
