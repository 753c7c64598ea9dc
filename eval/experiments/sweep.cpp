#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "eval/experiments/sweep.hpp"
#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

// A file name that no other cell has: what would be cut or doubled is told apart by its place in the grid.
std::string unique_name(std::string name, const std::string& seed, std::size_t place, std::set<std::string>& taken) {
    constexpr std::size_t longest = 150;  // bytes; file systems take 255, and files beside the cell get longer names
    if (name.size() > longest) name = fmt::format("{}.cell{}", name.substr(0, longest), place);
    name += seed;
    if (!taken.insert(name).second) taken.insert(name += fmt::format(".cell{}", place));
    return name;
}

void add_cells(sweep_plan& plan, const std::vector<axis>& axes) {
    std::set<std::string> taken;
    for (const auto& setting : combine(axes)) {
        plan.settings.push_back(setting.arm);
        const auto add = [&](std::optional<std::int64_t> seed) {
            auto one = setting;
            one.seed = seed;
            const auto suffix = seed ? fmt::format(",seed={}", *seed) : "";
            one.id = unique_name(setting.id, suffix, plan.cells.size(), taken);
            one.number = plan.cells.size();
            plan.cells.push_back(std::move(one));
        };
        if (plan.seeds.empty()) add({});
        for (const auto seed : plan.seeds) add(seed);
    }
}

void set_footing(sweep_plan& plan) {
    for (auto& one : plan.cells) {
        auto& overrides = one.overrides;
        if (!one.seed) {
            overrides.emplace_back("monitor.address=null");
            continue;
        }
        one.at["seed"] = std::to_string(*one.seed);
        // Before the cell's own: a grid over train.eval_records has its way.
        const auto equal = equal_footing(*one.seed, plan.made_up, plan.what.base);
        overrides.insert(overrides.begin(), equal.begin(), equal.end());
    }
}

}  // namespace

sweep_plan plan_sweep(const std::vector<std::string>& keys, const std::string& seeds, const resolver& resolve) {
    sweep_plan plan;
    const auto axes = axes_from(keys);
    for (const auto& one : axes) plan.keys.push_back(one.name);
    if (!seeds.empty()) plan.seeds = seed_list("--seeds", seeds);
    plan.what = {"sweep", axes, resolve({})};
    plan.made_up = is_synthetic(value_at(plan.what.base, "data.path").get<std::string>());
    if (!plan.seeds.empty())
        for (const auto& set : footing_keys(plan.made_up))
            if (std::find(plan.keys.begin(), plan.keys.end(), set) != plan.keys.end())
                refuse(fmt::format("--grid {}: --seeds sets that key; leave one of the two away", set));
    add_cells(plan, axes);
    set_footing(plan);
    for (auto& one : plan.cells) resolve_cell(one, resolve);
    for (const auto& key : plan.keys) erase_key(plan.what.base, key);
    erase_key(plan.what.base, "monitor.address");
    if (!plan.seeds.empty()) {
        erase_footing(plan.what.base, plan.made_up);
        axis seed{"seed", {}};
        for (const auto value : plan.seeds) seed.values.push_back(std::to_string(value));
        plan.what.axes.push_back(seed);
    }
    return plan;
}

namespace {

setting_score compute_score(const std::string& setting, const std::vector<measured>& cells) {
    setting_score out;
    out.setting = setting;
    std::vector<double> end, best;
    for (const auto& [where, result] : cells) {
        if (where.arm != setting) continue;
        ++out.cells;
        if (result.state == cell_state::failed) ++out.failed;
        if (!result.summary) continue;
        const auto& summary = *result.summary;
        if (summary.perplexity_after) end.push_back(*summary.perplexity_after);
        if (summary.perplexity_best) best.push_back(*summary.perplexity_best);
        out.any_bound = out.any_bound && summary.guarantee().holds();
        out.epsilon_guaranteed = std::max(out.epsilon_guaranteed, summary.epsilon_guaranteed);
    }
    out.end = compute_statistic(end);
    out.best = compute_statistic(best);
    return out;
}

// Without a result, or with one that is no number: last.
double for_order(const setting_score& one) {
    const double none = std::numeric_limits<double>::max();
    if (!one.end.mean) return std::numeric_limits<double>::infinity();
    return std::isfinite(*one.end.mean) ? *one.end.mean : none;
}

std::ptrdiff_t with_result(const std::vector<setting_score>& scores) {
    return std::count_if(scores.begin(), scores.end(), [](const auto& one) { return one.end.mean.has_value(); });
}

}  // namespace

const setting_score* sweep_report::best() const {
    return with_result(scores) < 2 ? nullptr : &scores.front();
}

const setting_score* sweep_report::worst() const {
    const auto known = with_result(scores);
    return known < 2 ? nullptr : &scores[static_cast<std::size_t>(known - 1)];
}

sweep_report make_report(const sweep_plan& plan, std::vector<measured> cells, const std::string& command) {
    sweep_report out;
    out.plan = plan;
    out.cells = std::move(cells);
    out.command = command;
    for (const auto& setting : plan.settings) out.scores.push_back(compute_score(setting, out.cells));
    std::stable_sort(out.scores.begin(), out.scores.end(),
                     [](const auto& a, const auto& b) { return for_order(a) < for_order(b); });
    out.cost = sum_expense(out.cells);
    return out;
}

// A sweep's files and what the command prints.

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
        out.push_back(
            {as(one.setting), describe_end(one), in_words(one.best), describe_bound(one), name_of(report, one)});
    return out;
}

const std::vector<std::string> columns = {"setting", "end perplexity", "best seen", "guaranteed ε", ""};

captioned curves_figure(const sweep_report& report) {
    captioned out;
    out.drawing = {"curves", "Held-out perplexity", "step", "perplexity per token", {}, {}, {}, false};
    double last = 1;
    const auto draw_setting = [&](const setting_score& one, const std::string& label, const char* colour, mark how) {
        for (const auto& [where, result] : report.cells) {
            if (where.arm != one.setting || result.state != cell_state::done) continue;
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
    out["cells"] = to_json(report.cells, [](const cell& where) {
        return json{{"setting", where.arm}, {"values", where.at}};
    });
    return to_text(out);
}

std::string sweep_csv(const sweep_report& report) {
    std::vector<cell_column> columns;
    for (const auto& key : report.plan.keys)
        columns.push_back({key, [key](const measured& one) { return one.where.at.at(key); }});
    columns.push_back(
        {"seed", [](const measured& one) { return one.where.seed ? std::to_string(*one.where.seed) : std::string(); }});
    return to_csv(report.cells, columns);
}

std::string sweep_html(const sweep_report& report) {
    auto sentences = expense_sentences(report.cost);
    sentences.push_back(choosing_sentence(report.cost));
    sentences.emplace_back("The best of many settings looks better than it is: its lead shrinks on new seeds.");
    return to_html({.title = "Settings compared",
                    .subtitle = fmt::format("{} settings · {} of {} cells done", report.scores.size(),
                                            count_done(report.cells), report.cells.size()),
                    .body = "<h2>From best to worst</h2>\n" +
                            html_table("Held-out perplexity, over seeds", columns, list_rows(report, escaped)) +
                            fmt::format("<p>{}</p>\n", reading) + "<h2>Over the run</h2>\n" +
                            figures({curves_figure(report)}, "Their data is in <code>sweep.json</code>"),
                    .sentences = sentences,
                    .command = report.command},
                   report.cells);
}

std::string sweep_text(const sweep_report& report) {
    auto rows = list_rows(report, [](std::string_view text) { return std::string(text); });
    rows.insert(rows.begin(), columns);
    auto out = text_table(rows) + "\n";
    if (report.best()) out += std::string(reading) + "\n";
    for (const auto& sentence : expense_sentences(report.cost)) out += sentence + "\n";
    return out;
}

experiment make_experiment(const sweep_plan& plan) {
    return {.what = plan.what,
            .stages = {[plan](const auto&) { return plan.cells; }},
            .report = [plan](std::vector<measured> cells, const std::string& command) -> report_files {
                const auto report = make_report(plan, std::move(cells), command);
                return {sweep_json(report), sweep_csv(report), sweep_html(report), sweep_text(report)};
            }};
}

}  // namespace rldp::eval
