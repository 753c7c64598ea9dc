#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "eval/experiments/comparison_files.hpp"
#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::eval {
namespace {

using of_line = std::function<std::optional<double>(const metrics_line&)>;
using cells_of_grid = std::vector<const measured*>;

mark choose_mark(role part) {
    return part == role::baseline || part == role::ours ? mark::marked_line : mark::marked_dashed;
}

// One line per method over the steps, at one ε.
captioned over_steps(const compare_plan& plan, const cells_of_grid& cells, double epsilon, figure drawing,
                     const of_line& value, bool dial) {
    double last = 1;
    for (const auto& method : plan.methods) {
        const auto points = mean_over_seeds(cells_at(cells, method.name, epsilon), value);
        if (!points.empty()) last = std::max(last, points.back().first);
        const auto how = dial && choose_mark(method.part) == mark::marked_line ? mark::steps : choose_mark(method.part);
        drawing.lines.push_back({"", how, find_colour(method.name), thinned(dial ? changes(points) : points, 500)});
    }
    drop_empty(drawing.lines);
    drawing.x_range = {0, last};
    drawing.log_y = spans_decades(drawing.lines);
    return {std::move(drawing), ""};
}

/// At one ε: a bar per method, over a bottom just below the least.
captioned bars(const compare_plan& plan, const comparison& numbers, const std::string& prefix) {
    captioned out;
    out.drawing = {prefix + "end",
                   fmt::format("End perplexity at ε = {}", plan.epsilons.front()),
                   "",
                   "held-out perplexity at the end",
                   {},
                   {},
                   {},
                   false};
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const auto& method : plan.methods)
        for (const auto& one : numbers.scores)
            if (one.method == method.name && one.end.mean && std::isfinite(*one.end.mean)) {
                const double place = static_cast<double>(out.drawing.names.size());
                out.drawing.lines.push_back({"", mark::bar, find_colour(method.name), {{place, *one.end.mean}}});
                out.drawing.names.push_back(method.name);
                least = std::min(least, *one.end.mean);
                most = std::max(most, *one.end.mean);
            }
    out.drawing.x_range = {-0.7, static_cast<double>(out.drawing.names.size()) - 0.3};
    if (most > 0) {
        const double span = std::max(most - least, 0.05 * most);
        out.drawing.y_range = {std::max(0.0, least - 0.3 * span), most + 0.1 * span};
    }
    out.caption = "Mean over the seeds that are done. The bars don't begin at nought.";
    return out;
}

captioned against_epsilon(const compare_plan& plan, const comparison& numbers, const std::string& prefix) {
    if (plan.epsilons.size() == 1) return bars(plan, numbers, prefix);
    captioned out;
    out.drawing = {prefix + "end", "End perplexity against ε", "ε", "held-out perplexity at the end", {}, {}, {},
                   false};
    for (const auto& method : plan.methods) {
        curve points;
        for (const auto& one : numbers.scores)
            if (one.method == method.name && one.end.mean && std::isfinite(*one.end.mean))
                points.emplace_back(one.epsilon, *one.end.mean);
        std::sort(points.begin(), points.end());
        out.drawing.lines.push_back({"", choose_mark(method.part), find_colour(method.name), std::move(points)});
    }
    drop_empty(out.drawing.lines);
    const auto [least, most] = std::minmax_element(plan.epsilons.begin(), plan.epsilons.end());
    const double margin = 0.05 * *most;
    out.drawing.x_range = {std::max(0.0, *least - margin), *most + margin};
    out.drawing.log_y = spans_decades(out.drawing.lines);
    out.caption = "Mean over the seeds that are done.";
    return out;
}

std::optional<double> mean_radius(const metrics_line& line) {
    if (line.radii.empty()) return std::nullopt;
    double sum = 0;
    for (const double radius : line.radii) sum += radius;
    return sum / static_cast<double>(line.radii.size());
}

}  // namespace

std::string find_colour(const std::string& method) {
    const auto& all = compared_methods();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == method; });
    return nth_colour(static_cast<std::size_t>(found - all.begin()));
}

curve mean_over_seeds(const cells_of_grid& cells, const of_line& value) {
    std::map<std::int64_t, std::vector<double>> at_step;
    std::size_t done = 0;
    for (const auto* one : cells) {
        if (one->result.state != cell_state::done) continue;
        ++done;
        for (const auto& line : one->result.metrics)
            if (const auto y = value(line); y && std::isfinite(*y)) at_step[line.step].push_back(*y);
    }
    curve out;
    for (const auto& [step, values] : at_step)
        if (values.size() == done) out.emplace_back(static_cast<double>(step), *compute_statistic(values).mean);
    return out;
}

std::vector<captioned> utility_figures(const compare_plan& plan, const comparison& numbers, const cells_of_grid& cells,
                                       const std::string& prefix) {
    std::vector<captioned> out = {against_epsilon(plan, numbers, prefix)};
    for (std::size_t i = 0; i < plan.epsilons.size(); ++i) {
        const auto epsilon = plan.epsilons[i];
        figure drawing{prefix + "curve" + nth_letter(i),
                       fmt::format("Held-out perplexity at ε = {}", epsilon),
                       "step",
                       "perplexity per token",
                       {},
                       {},
                       {},
                       false};
        out.push_back(over_steps(
            plan, cells, epsilon, std::move(drawing), [](const auto& line) { return line.eval_perplexity; }, false));
        out.back().caption = "Mean over the seeds that are done.";
    }
    return out;
}

std::vector<captioned> trace_figures(const compare_plan& plan, const cells_of_grid& cells) {
    std::vector<captioned> out;
    for (std::size_t i = 0; i < plan.epsilons.size(); ++i) {
        const auto epsilon = plan.epsilons[i];
        figure radii{"radius" + nth_letter(i),
                     fmt::format("Mean clip radius at ε = {}", epsilon),
                     "step",
                     "clip radius",
                     {},
                     {},
                     {},
                     false};
        out.push_back(over_steps(plan, cells, epsilon, std::move(radii), mean_radius, true));
        out.back().caption = "Mean over adapters and seeds. A method without radii has no line.";
        figure noise{"noise" + nth_letter(i),
                     fmt::format("Noise multiplier at ε = {}", epsilon),
                     "step",
                     "noise multiplier z",
                     {},
                     {},
                     {},
                     false};
        out.push_back(over_steps(
            plan, cells, epsilon, std::move(noise),
            [](const auto& line) -> std::optional<double> {
                if (line.noise_multiplier > 0) return line.noise_multiplier;
                return std::nullopt;
            },
            true));
        out.back().caption = "Mean over seeds of what was charged.";
    }
    return out;
}

// compare.html: what a reader needs to judge the comparison, in the look of the run's report.

namespace {

using rows = std::vector<std::vector<std::string>>;

std::string swatch(const std::string& method) {
    return fmt::format("<span style=\"color:{}\">■</span> {}", find_colour(method), escaped(method));
}

std::string name_and_part(const arm& method) {
    return swatch(method.name) + (method.part == role::baseline ? "" : " (" + name_of(method.part) + ")");
}

std::vector<std::string> epsilon_head(const compare_plan& plan, const std::string& first) {
    std::vector<std::string> out = {first};
    for (const auto epsilon : plan.epsilons) out.push_back(fmt::format("ε\u00a0=\u00a0{}", epsilon));
    return out;
}

const score* find(const comparison& of, const std::string& method, double epsilon) {
    for (const auto& one : of.scores)
        if (one.method == method && one.epsilon == epsilon) return &one;
    return nullptr;
}

// A row per method, a column per ε.
template <class Text>
std::string by_epsilon(const compare_plan& plan, const std::string& caption, const Text& text) {
    rows out;
    for (const auto& method : plan.methods) {
        out.push_back({name_and_part(method)});
        for (const auto epsilon : plan.epsilons) out.back().push_back(text(method.name, epsilon));
    }
    return html_table(caption, epsilon_head(plan, "method"), out);
}

std::string standings_table(const comparison& of) {
    rows out;
    for (const auto& one : of.standings)
        out.push_back({fmt::format("ε\u00a0=\u00a0{}", one.epsilon), one.baseline ? escaped(*one.baseline) : "–",
                       in_words(one.baseline_end), in_words(one.ours_end), in_words(one.seeds),
                       one.difference ? readable(*one.difference) : "–", one.ratio ? readable(*one.ratio) : "–"});
    return html_table("RLDP beside the best baseline, over the seeds that all have",
                      {"", "best baseline", "its end perplexity", "RLDP's", "seeds", "difference", "ratio"}, out, 2);
}

std::string utility_section(const compare_report& report, const comparison& of, bool own) {
    const auto& plan = report.plan;
    auto out = by_epsilon(plan, "Held-out perplexity at the end: mean ± deviation over seeds",
                          [&](const std::string& method, double epsilon) {
                              const auto* one = find(of, method, epsilon);
                              if (!one) return std::string("–");
                              if (own && !one->lr) return std::string("not tuned yet");
                              auto words = escaped(in_words(*one, plan.seeds.size()));
                              if (own) words += fmt::format("<br><small>at {}</small>", readable(*one->lr));
                              return words;
                          });
    out += "<br>" + standings_table(of);
    if (const auto speed = speed_sentence(of); !speed.empty()) out += "<p class=\"note\">" + escaped(speed) + "</p>\n";
    return out;
}

std::string tuning_table(const compare_report& report) {
    const auto text = [&](const std::string& method, double epsilon) -> std::string {
        for (const auto& one : report.tuned) {
            if (one.arm != method || one.epsilon != epsilon) continue;
            std::string out;
            for (std::size_t i = 0; i < one.tried.size(); ++i) {
                const bool best = one.chosen == i;
                out += fmt::format("{}{}: {}{}{}<br>", best ? "<b>" : "", readable(report.plan.rates[i]),
                                   in_words(one.tried[i]), best ? "</b>" : "", best && one.at_edge ? "*" : "");
            }
            return out;
        }
        return "–";
    };
    return by_epsilon(report.plan, "End perplexity on made-up records, by learning rate", text);
}

std::string privacy_table(const compare_report& report) {
    const auto text = [&](const std::string& method, double epsilon) -> std::string {
        const auto* one = find(report.at_common, method, epsilon);
        if (!one || one->by_accountant.empty()) return "–";
        auto out = one->any_bound ? "<b>" + readable(one->epsilon_guaranteed) + "</b>" : "<b>no bound</b>";
        for (const auto& [name, value] : one->by_accountant) {
            const auto bound = one->upper_bound.find(name);
            const bool holds = one->any_bound && bound != one->upper_bound.end() && bound->second;
            out +=
                fmt::format("<br><small>{}: {}{}</small>", escaped(name), readable(value), holds ? "" : " (no bound)");
        }
        return out;
    };
    return by_epsilon(report.plan, "Guaranteed ε, and ε spent under each accountant (the largest over seeds)", text);
}

std::string notes(const compare_report& report) {
    std::string out;
    if (report.plan.seeds.size() == 1)
        out +=
            "<p class=\"note\">One seed: each figure is a single draw of noise and batches, and differences between "
            "methods may be no more than that. Several seeds (--seeds 0,1,2) tell.</p>\n";
    if (count_done(report.cells) < report.cells.size())
        out +=
            "<p class=\"note bad\">This comparison is not complete: means are over the cells that are done, and not "
            "all methods have the same ones. The command below goes on with it.</p>\n";
    return out;
}

std::string methods_table(const compare_plan& plan) {
    rows out;
    for (const auto& method : plan.methods) {
        std::string changes;
        for (const auto& one : method.set) changes += (changes.empty() ? "" : " ") + one;
        out.push_back({swatch(method.name), name_of(method.part), escaped(method.sentence),
                       "<code>" + escaped(changes) + "</code>"});
    }
    return "<details><summary>The methods, and what each changes in the configuration</summary>" +
           html_table("", {"method", "role", "what it is", "sets"}, out, 4) + "</details>\n";
}

std::string legend(const compare_plan& plan) {
    std::string out = "<p class=\"sub\">";
    for (const auto& method : plan.methods)
        out += "<span style=\"white-space:nowrap\">" + swatch(method.name) + " &nbsp;</span> ";
    return out + "</p>\n";
}

}  // namespace

std::string compare_html(const compare_report& report) {
    const auto& plan = report.plan;
    const std::string data = "Their data is in <code>compare.json</code> and the cells' <code>metrics.jsonl</code>";
    const auto at_common = common_cells(report.cells);
    auto body = notes(report) + methods_table(plan);
    body += fmt::format("<h2>At one learning rate, {}</h2>\n", readable(plan.base_lr)) +
            utility_section(report, report.at_common, false) + legend(plan) +
            figures(utility_figures(plan, report.at_common, at_common, "common"), data);
    if (plan.tunes()) {
        const auto at_own = cells_at_own_rate(plan, report.cells, report.tuned);
        body += "<h2>Each method at its own learning rate</h2>\n" + html_list(tuning_sentences(report)) +
                utility_section(report, report.at_own, true) + legend(plan) +
                figures(utility_figures(plan, report.at_own, at_own, "own"), data) +
                "<details><summary>How the rates compared</summary>" + tuning_table(report) + "</details>\n";
    }
    body += "<h2>Radii and noise</h2>\n" + legend(plan) + figures(trace_figures(plan, at_common), data);
    body += "<h2>Privacy and cost</h2>\n" + privacy_table(report) + html_list(expense_sentences(report.cost));
    return to_html({.title = "Methods under one contract",
                    .subtitle = fmt::format("{} · {} · {} · {} of {} cells done", plural(plan.methods.size(), "method"),
                                            plural(plan.epsilons.size(), "budget"), plural(plan.seeds.size(), "seed"),
                                            count_done(report.cells), report.cells.size()),
                    .body = body,
                    .sentences = caveats(report),
                    .command = report.command},
                   report.cells);
}

}  // namespace rldp::eval
