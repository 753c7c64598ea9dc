// A sweep's files and what the command prints.
#include <fmt/format.h>

#include <algorithm>

#include "config/base/files.hpp"
#include "eval/grid/cell_json.hpp"
#include "eval/grid/comparison/words.hpp"
#include "eval/grid/sweep/sweep.hpp"
#include "eval/metrics/json_number.hpp"
#include "eval/report/curves.hpp"
#include "eval/report/html.hpp"
#include "eval/report/html_table.hpp"
#include "eval/report/page.hpp"
#include "eval/report/text_table.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

constexpr auto reading = "best and worst: by mean end perplexity, among settings that have one.";

std::string name_of(const sweep_report& report, const setting_score& one) {
    return &one == report.best() ? "best" : &one == report.worst() ? "worst" : "";
}

std::string describe_end(const setting_score& one) {
    if (!one.end.mean) return one.failed > 0 ? "failed" : "not run";
    auto out = in_words(one.end);
    if (one.end.n < one.cells) out += fmt::format(" ({} of {})", one.end.n, one.cells);
    if (one.failed > 0) out += fmt::format(", {} failed", one.failed);
    return out;
}

std::string describe_bound(const setting_score& one) {
    if (!one.end.mean) return "–";
    return one.any_bound ? short_number(one.epsilon_guaranteed) : "no bound";
}

std::vector<std::vector<std::string>> list_rows(const sweep_report& report, std::string (*as)(std::string_view)) {
    std::vector<std::vector<std::string>> out;
    for (const auto& one : report.scores)
        out.push_back({as(one.setting), describe_end(one), in_words(one.best), describe_bound(one), name_of(report, one)});
    return out;
}

const std::vector<std::string> columns = {"setting", "end perplexity", "best seen", "guaranteed ε", ""};

captioned curves_figure(const sweep_report& report) {
    captioned out;
    out.drawing = {"curves", "Held-out perplexity", "step", "perplexity per token", {}, {}, {}, false};
    double last = 1;
    const auto draw_setting = [&](const setting_score& one, const std::string& label, const char* colour, mark how) {
        for (const auto& [where, result] : report.cells) {
            if (where.setting != one.setting || result.state != cell_state::done) continue;
            curve points;
            for (const auto& line : result.metrics)
                if (line.eval_perplexity) points.emplace_back(static_cast<double>(line.step), *line.eval_perplexity);
            if (!points.empty()) last = std::max(last, points.back().first);
            out.drawing.lines.push_back({label, how, colour, thinned(points, 500)});
            return;  // the first seed that is done
        }
    };
    for (const auto& one : report.scores)
        if (&one != report.best() && &one != report.worst())
            draw_setting(one, out.drawing.lines.empty() ? "the others" : "", "#8a93a0", mark::marked_dashed);
    if (report.worst())
        draw_setting(*report.worst(), "worst: " + report.worst()->setting, "#d9822b", mark::marked_line);
    if (report.best()) draw_setting(*report.best(), "best: " + report.best()->setting, "#2f7ed8", mark::marked_line);
    drop_empty(out.drawing.lines);
    out.drawing.x_range = {0, last};
    out.drawing.log_y = spans_decades(out.drawing.lines);
    out.caption = "The first seed of each setting that is done.";
    return out;
}

}  // namespace

std::string sweep_json(const sweep_report& report) {
    json out = {
        {"kind", "sweep"}, {"command", report.command}, {"keys", report.plan.keys}, {"seeds", report.plan.seeds}};
    const auto named = [](const setting_score* one) { return one ? json(one->setting) : json(nullptr); };
    out["best"] = named(report.best());
    out["worst"] = named(report.worst());
    out["reading"] = reading;
    out["settings"] = json::array();
    for (const auto& one : report.scores)
        out["settings"].push_back(
            {{"setting", one.setting},
             {"end_perplexity", to_json(one.end)},
             {"best_perplexity", to_json(one.best)},
             {"guaranteed_epsilon",
              one.end.mean && one.any_bound ? json_number(one.epsilon_guaranteed) : json(nullptr)},
             {"cells", one.cells},
             {"failed", one.failed}});
    out["cost"] = to_json(report.cost);
    out["cells"] = json::array();
    for (const auto& [where, result] : report.cells) {
        json one = {{"id", where.run.id}, {"setting", where.setting}, {"values", where.run.at}};
        one.update(to_json(result));
        out["cells"].push_back(one);
    }
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string sweep_csv(const sweep_report& report) {
    auto names = report.plan.keys;
    names.insert(names.begin(), "id");
    names.emplace_back("seed");
    const auto more = result_columns();
    names.insert(names.end(), more.begin(), more.end());
    auto out = csv_line(names);
    for (const auto& [where, result] : report.cells) {
        std::vector<std::string> fields = {where.run.id};
        for (const auto& key : report.plan.keys) fields.push_back(where.run.at.at(key));
        fields.push_back(where.seed ? std::to_string(*where.seed) : "");
        const auto results = result_fields(result);
        fields.insert(fields.end(), results.begin(), results.end());
        out += csv_line(fields);
    }
    return out;
}

std::string sweep_html(const sweep_report& report) {
    const auto done = std::count_if(report.cells.begin(), report.cells.end(),
                                    [](const auto& one) { return one.result.state == cell_state::done; });
    auto body = fmt::format(
        "<header><h1>Settings compared</h1>\n<p class=\"sub\">{} settings · {} of {} cells done</p></header>\n",
        report.scores.size(), done, report.cells.size());
    body += "<h2>From best to worst</h2>\n" +
            html_table("Held-out perplexity, over seeds", columns, list_rows(report, escaped)) +
            fmt::format("<p>{}</p>\n", reading);
    body += "<h2>Over the run</h2>\n" + figures({curves_figure(report)}, "Their data is in <code>sweep.json</code>");
    body +=
        "<h2>What this says, and what it does not</h2>\n" + html_list(expense_sentences(report.cost)) +
        html_list({report.cost.raw
                       ? "Held-out perplexity is raw information about Eval units, outside of every run's contract; "
                         "a setting chosen by this table is chosen with it."
                       : "Held-out figures carry the noise of looks at held-out units, within each run's contract; "
                         "differences that are smaller than it say nothing.",
                   "The best of many settings looks better than it is: its lead shrinks on new seeds."});
    body += failed_section(report.cells) + "<h2>How to repeat this, or go on with it</h2>\n<pre>" +
            escaped(report.command) + "</pre>\n";
    return page("Settings compared", body);
}

std::string sweep_text(const sweep_report& report) {
    auto rows = list_rows(report, [](std::string_view text) { return std::string(text); });
    rows.insert(rows.begin(), columns);
    auto out = text_table(rows) + "\n";
    if (report.best()) out += std::string(reading) + "\n";
    for (const auto& sentence : expense_sentences(report.cost)) out += sentence + "\n";
    return out;
}

void write_files(const std::filesystem::path& out, const sweep_report& report) {
    write_file(out / "sweep.json", sweep_json(report));
    write_file(out / "sweep.csv", sweep_csv(report));
    write_file(out / "sweep.html", sweep_html(report));
}

}  // namespace rldp::eval
