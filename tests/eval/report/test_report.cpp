#include <cmath>
#include <cstdlib>
#include <map>

#include "run/artifacts/formatting.hpp"
#include "tests/catch.hpp"
#include "tests/eval/sample.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::eval;

namespace {

std::string make_page(const run_summary& summary) {
    return report_html(summary, sample_metrics(), "{\"seed\": 42}");
}

}  // namespace

TEST_CASE("the page is whole, self-contained and shows every figure") {
    const auto page = make_page(sample_summary());
    CHECK(page.rfind("<!doctype html>", 0) == 0);
    CHECK(has(page, "</html>"));
    for (const char* id : {"perplexity", "loss", "radii", "noise", "epsilon", "deck"})
        CHECK((has(page, std::string("<figure id=\"figure_") + id + "\"") || has(page, "gnuplot could not be run")));
    CHECK_FALSE(has(page, "<script"));
    CHECK_FALSE(has(page, "<link"));
    CHECK_FALSE(has(page, "<img"));
    CHECK_FALSE(has(page, "@import"));
    // the only addresses are the names of SVG's namespaces
    for (auto at = page.find("http"); at != std::string::npos; at = page.find("http", at + 1)) {
        const auto rest = page.substr(at, 22);
        CHECK((rest.rfind("http://www.w3.org/", 0) == 0 || rest.rfind("http-equiv", 0) == 0));
    }
    for (const char* number : {"12.5 → 5", "73\u202f271", "7.875", "0.125", "4.75", "7.5", "6.25", "(−60.0\u00a0%)"})
        CHECK(has(page, number));
    CHECK(has(page, "no, can under-report"));
    CHECK(has(page, "layer.0.v"));
}

TEST_CASE("every id of the page is unique") {
    const auto page = make_page(sample_summary());
    std::map<std::string, int> ids;
    for (const std::string start : {" id=\"", " id='"})
        for (auto at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
            const auto begin = at + start.size();
            ++ids[page.substr(begin, page.find_first_of("\"'", begin) - begin)];
        }
    for (const auto& [id, count] : ids) {
        INFO(id);
        CHECK(count == 1);
    }
}

TEST_CASE("the page says on top what was trained on what, when, and what its owner says of it") {
    const auto page = report_html(sample_summary(), sample_metrics(), "{}");
    const auto top = page.substr(0, page.find("class=\"cards\""));
    CHECK(has(top, "<title>Private fine-tuning: pilot</title>"));
    CHECK(has(top, "model tiny-gpt2 · data patients.csv · 2026-01-31 · RLDP 1.2.3"));
    CHECK(has(top, "#ward-3"));
    CHECK(has(top, "a first try"));
    CHECK(has(page, "the template alone has 6.5: the model has "));
    CHECK(has(page, "A record of wards."));
    CHECK(has(page, "0.3 million parameters"));
}

TEST_CASE("what was learned is told by the values where they are known, not by words of the template") {
    run_summary s;
    CHECK(what_was_learned(s).empty());
    s.template_perplexity = 1.809;
    CHECK(what_was_learned(s).empty());
    s.perplexity_after = 1.826;
    CHECK(what_was_learned(s) == "the template alone has 1.809: the model has not learned how values hang together");
    s.perplexity_after = 1.7;
    CHECK(has(what_was_learned(s), "the model has learned"));
    s.perplexity_after = 1.826;
    s.value_nats_after = 40.6;
    CHECK(has(what_was_learned(s), "the model has not learned"));  // no marginals: the perplexity decides
    s.marginal_nats = 42.3;
    CHECK(what_was_learned(s) ==
          "values cost 40.6 nats a record, by how often each occurs 42.3: the model has learned how values hang "
          "together");
    s.value_nats_after = 42.4;
    s.perplexity_after = 1.7;
    CHECK(has(what_was_learned(s), "the model has not learned"));
}

TEST_CASE("what comes from files is escaped") {
    auto summary = sample_summary();
    const std::string attack = "<script>alert('x')</script>";
    summary.version = summary.method = summary.allocation = summary.unit = summary.split = attack;
    summary.warnings = summary.tags = summary.samples = {attack};
    summary.name = summary.notes = summary.model = summary.data = summary.date = attack;
    summary.groups = {attack, attack};
    summary.table = {{attack}, {{attack}}};
    summary.epsilon_spent[attack] = 1;
    auto page = report_html(summary, sample_metrics(), "{\"path\": \"" + attack + "\"}");
    CHECK_FALSE(has(page, "<script"));
    CHECK(has(page, "&lt;script&gt;"));
}

TEST_CASE("the page tells of a prepared controller, what it did and how strange the run was to it") {
    auto summary = sample_summary();
    auto metrics = sample_metrics();
    CHECK(report_html(summary, metrics, "{}").find("prepared controller") == std::string::npos);
    summary.controller = {"policy <abc>, which passed its gate"};
    for (auto& line : metrics)
        if (line.step > 20) line.steered = {1.1, {0.5, 2}, line.step > 70 ? 0.5 : 1};
    const auto page = report_html(summary, metrics, "{}");
    CHECK(page.find("<h2>The prepared controller</h2>") != std::string::npos);
    CHECK(page.find("policy &lt;abc&gt;") != std::string::npos);
    CHECK(page.find("75 % acted here on average, 50 % at least") != std::string::npos);
    CHECK(page.find("Factors of the learning rate") != std::string::npos);
}

TEST_CASE("no page claims the proof of a spending policy that nobody knows") {
    auto summary = sample_summary();
    summary.policy = "generous";
    CHECK(has(refusal([&] { make_page(summary); }), "spending policy \"generous\" is unknown"));
}

TEST_CASE("the page claims what holds and nothing else") {
    auto summary = sample_summary();
    const std::string claim = "differentially private with ε = 7.875", none = "<b>No guarantee.</b>";
    SECTION("sound") {
        const auto page = make_page(summary);
        CHECK(has(page, claim));
        CHECK_FALSE(has(page, none));
        CHECK(has(page, "one record"));
        CHECK(has(page, "multiset of noise levels was fixed"));
        CHECK(has(page, "<b>Progress ε</b>"));
        CHECK(has(page, "outside the contract"));
        CHECK_FALSE(has(page, "Conditional on the split"));
    }
    SECTION("groups") {
        summary.unit = "patient_nbr";
        CHECK(has(make_page(summary), "share one value of <code>patient_nbr</code>"));
    }
    SECTION("filter") {
        summary.policy = "filter";
        CHECK(has(make_page(summary), "Rényi filter"));
    }
    SECTION("exact split") {
        summary.split = "exact";
        const auto page = make_page(summary);
        CHECK(has(page, claim));
        CHECK(has(page, "Conditional on the split"));
    }
    SECTION("insecure") {
        summary.insecure_reproducible = true;
        const auto page = make_page(summary);
        CHECK(has(page, none));
        CHECK_FALSE(has(page, claim));
        CHECK(has(page, "insecure_reproducible"));
        CHECK_FALSE(has(page, ">yes<"));
    }
    SECTION("as published") {
        summary.semantics = rldp::semantics::as_published;
        summary.tight_epsilon_as_released = 243.5;
        const auto page = make_page(summary);
        CHECK(has(page, none));
        CHECK_FALSE(has(page, claim));
        CHECK(has(page, "243.5"));
        CHECK(has(page, "void even that"));
        CHECK_FALSE(has(page, ">yes<"));
    }
    SECTION("an infinite commitment") {
        summary.epsilon_guaranteed = INFINITY;
        CHECK(has(make_page(summary), none));
    }
}

TEST_CASE("a run without numbers still has a page") {
    auto summary = sample_summary();
    summary.perplexity_after.reset();
    summary.groups.clear();
    const auto page = report_html(summary, {}, "{}");
    CHECK(has(page, "No values were recorded."));
    CHECK(has(page, "</html>"));
}

TEST_CASE("without gnuplot the page says so") {
    const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
    setenv("PATH", "/nowhere", 1);
    const auto page = make_page(sample_summary());
    setenv("PATH", path.c_str(), 1);
    CHECK(has(page, "gnuplot could not be run"));
    CHECK(has(page, "metrics.jsonl"));
    CHECK_FALSE(has(page, "<svg"));
    CHECK(has(page, "</html>"));
}

TEST_CASE("a cell of a table is one line, whatever a file put into it") {
    CHECK(text_table({{"unit", "ε"}, {"record\nsigned\x1b[1A", "2"}}) ==
          "unit               ε\nrecord?signed?[1A  2\n");
}
