// audit.html, in the look of the run's report.
#include <fmt/format.h>

#include <cmath>

#include "eval/audit/report/figures.hpp"
#include "eval/audit/report/words.hpp"
#include "eval/report/html.hpp"
#include "eval/report/html_table.hpp"
#include "eval/report/page.hpp"

namespace rldp::eval {

namespace {

std::string section(const std::string& title, text_rows rows, const std::string& about) {
    if (rows.size() < 2) return {};
    for (auto& row : rows)
        for (auto& cell : row) cell = escaped(cell);
    const auto head = rows.front();
    rows.erase(rows.begin());
    return fmt::format("<h2>{}</h2>\n{}<p>{}</p>\n", escaped(title), html_table("", head, rows), escaped(about));
}

std::string card(const std::string& value, const std::string& what) {
    return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(what));
}

std::string cards(const audit_report& report) {
    auto out = std::string("<div class=\"cards\">\n");
    out += card(std::isfinite(report.claimed_epsilon) ? fmt::format("≤ {:.2f}", report.claimed_epsilon) : "none",
                "claimed ε");
    if (const auto found = audited_epsilon(report))
        out += card(fmt::format("≥ {:.2f}", *found), fmt::format("audited ε, {:g} %", 100 * report.confidence));
    const auto point = make_point(report);
    if (point.auc) out += card(fmt::format("{:.3f}", *point.auc), "membership AUC; 0.5 is guessing");
    if (point.mean_exposure) out += card(fmt::format("{:.2f} bits", *point.mean_exposure), "mean exposure");
    for (const auto& one : report.extractions)
        out += card(fmt::format("{} of {}", one.found, one.canaries), "secrets extracted, prompt: " + one.prompt);
    return out + "</div>\n";
}

std::string in_plain_words(const audit_report& report) {
    const auto found = audited_epsilon(report);
    const bool refuted = found && *found > report.claimed_epsilon;
    return fmt::format("<p class=\"note{}\">{} <i>{}.</i></p>\n", refuted ? " bad" : "", escaped(conclusion(report)),
                       escaped(verdict(report)));
}

}  // namespace

std::string audit_html(const audit_report& report) {
    auto body =
        fmt::format("<header><h1>Audit</h1>\n<p class=\"sub\">{} · method {} · after {} of {} steps</p></header>\n",
                    escaped(report.run), escaped(report.method), report.step, report.steps);
    body +=
        "<p class=\"note\">This page speaks of training records. It is for the owner of the data and lies on the "
        "trusted side of the run.</p>\n";
    body += in_plain_words(report) + cards(report);
    body += section("A lower bound on ε", bound_rows(report), about_bounds(report));
    body += section("Membership", membership_rows(report), about_membership(report));
    body += section("Exposure of planted secrets", exposure_rows(report), about_exposure(report));
    body += section("Extraction", extraction_rows(report), about_extraction(report));
    if (const auto drawn = audit_figures(report); !drawn.empty())
        body += "<h2>Figures</h2>\n" + figures(drawn, "Their numbers are in <code>audit.json</code>");
    if (!report.left_out.empty()) body += "<h2>Left out</h2>\n" + html_list(report.left_out);
    return page("Audit", body);
}

}  // namespace rldp::eval
