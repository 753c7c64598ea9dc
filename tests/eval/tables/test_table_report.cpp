// The page of a made-up table: its pictures and words.
#include "eval/tables/report/report.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "eval/tables/classifier.hpp"
#include "tests/catch.hpp"
#include "tests/eval/tables/made_up_tables.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::eval;

namespace {

table_report report_on(const value_table& made_up) {
    table_report out{.run = "runs/first",
                     .table = "t.csv",
                     .claimed_epsilon = 2,
                     .delta = 1e-5,
                     .found = judge(beside_draws(made_up), 2)};
    out.found.rules = {
        {.rule = "a <= \"b\"", .made_up = {.asked = 10, .broken = 3}, .real = {.asked = 20, .broken = 0}}};
    out.found.secrets = {.planted = 8, .found = 1, .made_up = 1000, .made_up_found = 0};
    out.found.left_out = {"a line & more"};
    return out;
}

}  // namespace

TEST_CASE("a page has three heat maps, bars, and a verdict from the interval alone") {
    const auto copied = report_on(draw_rows(400, 1));
    const auto html = table_html(copied);
    for (const auto* id : {"figure_pairsreal", "figure_pairsmadeup", "figure_pairsdifference", "figure_columna"})
        CHECK(has(html, id));
    CHECK(has(html, "note bad\">The table gives away who was in training"));
    CHECK(has(html, "a &lt;= &quot;b&quot;"));
    CHECK(has(html, "a line &amp; more"));
    CHECK(has(html, "8 secrets that the audit planted in training records 1 stand"));
    CHECK(has(html, "Telling a sensitive column"));
    CHECK_FALSE(has(html, "Texts"));
    CHECK_FALSE(has(html, "<script"));

    const auto apart = report_on(draw_rows(5000, 3));
    CHECK(has(table_verdict(apart), "not tell records that were in training from others better than chance"));
    CHECK(has(table_verdict(apart), "Other attacks may"));
    for (const auto& said : {table_html(apart), table_summary(apart), table_verdict(apart)})
        CHECK_FALSE(has(said, "is safe."));
}

TEST_CASE("a report's numbers are JSON, of a run without a guarantee, too") {
    auto report = report_on(draw_rows(400, 1));
    report.claimed_epsilon = std::numeric_limits<double>::infinity();
    const auto read = nlohmann::json::parse(table_json(report));
    CHECK(read["claimed_epsilon"] == "inf");
    CHECK(read["privacy"]["membership"]["attack"]["auc"] > 0.9);
    CHECK(read["quality"]["pairs"]["real"].size() == 3);
    CHECK(read["quality"]["target"].is_null());
    CHECK(has(table_html(report), "promises nothing"));
    CHECK(has(table_summary(report), "rules broken by made-up rows: 1 of 1"));
}
