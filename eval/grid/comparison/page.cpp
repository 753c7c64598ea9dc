// compare.html: what a reader needs to judge the comparison, in the look of the run's report.
#include <fmt/format.h>

#include <algorithm>

#include "eval/grid/cell_json.hpp"
#include "eval/grid/comparison/figures.hpp"
#include "eval/grid/comparison/files.hpp"
#include "eval/grid/comparison/words.hpp"
#include "eval/report/html.hpp"
#include "eval/report/html_table.hpp"
#include "eval/report/page.hpp"

namespace rldp::eval {
namespace {

using rows = std::vector<std::vector<std::string>>;

std::string swatch(const std::string& method) {
    return fmt::format("<span style=\"color:{}\">■</span> {}", find_colour(method), escaped(method));
}

std::string name_and_part(const variant& method) {
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
        for (const auto& one : report.tuning_results) {
            if (one.method != method || one.epsilon != epsilon) continue;
            std::string out;
            for (std::size_t i = 0; i < report.plan.rates.size(); ++i) {
                const auto lr = report.plan.rates[i];
                const bool best = one.best == lr;
                out += fmt::format("{}{}: {}{}{}<br>", best ? "<b>" : "", readable(lr), in_words(one.end[i]),
                                   best ? "</b>" : "", best && one.at_edge ? "*" : "");
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

std::string counted(std::size_t count, const std::string& what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string head(const compare_report& report) {
    const auto& cells = report.cells;
    const auto done =
        std::count_if(cells.begin(), cells.end(), [](const auto& one) { return one.result.state == cell_state::done; });
    auto out = fmt::format(
        "<header><h1>Methods under one contract</h1>\n<p class=\"sub\">{} · {} · {} · {} of {} cells "
        "done</p></header>\n",
        counted(report.plan.methods.size(), "method"), counted(report.plan.epsilons.size(), "budget"),
        counted(report.plan.seeds.size(), "seed"), done, cells.size());
    if (report.plan.seeds.size() == 1)
        out +=
            "<p class=\"note\">One seed: each figure is a single draw of noise and batches, and differences between "
            "methods may be no more than that. Several seeds (--seeds 0,1,2) tell.</p>\n";
    if (static_cast<std::size_t>(done) < cells.size())
        out +=
            "<p class=\"note bad\">This comparison is not complete: means are over the cells that are done, and not "
            "all "
            "methods have the same ones. The command below goes on with it.</p>\n";
    return out;
}

std::string methods_table(const compare_plan& plan) {
    rows out;
    for (const auto& method : plan.methods) {
        std::string changes;
        for (const auto& one : method.overrides) changes += (changes.empty() ? "" : " ") + one;
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
    const auto common_cells = common(report.cells);
    auto body = head(report) + methods_table(plan);
    body += fmt::format("<h2>At one learning rate, {}</h2>\n", readable(plan.base_lr)) +
            utility_section(report, report.at_common, false) + legend(plan) +
            figures(utility_figures(plan, report.at_common, common_cells, "common"), data);
    if (plan.tunes()) {
        const auto own_cells = tuned(report.cells, chosen(report.tuning_results));
        body += "<h2>Each method at its own learning rate</h2>\n" + html_list(tuning_sentences(report)) +
                utility_section(report, report.at_own, true) + legend(plan) +
                figures(utility_figures(plan, report.at_own, own_cells, "own"), data) +
                "<details><summary>How the rates compared</summary>" + tuning_table(report) + "</details>\n";
    }
    body += "<h2>Radii and noise</h2>\n" + legend(plan) + figures(trace_figures(plan, common_cells), data);
    body += "<h2>Privacy and cost</h2>\n" + privacy_table(report) + html_list(expense_sentences(report.cost));
    body +=
        "<h2>What this says, and what it does not</h2>\n" + html_list(caveats(report)) + failed_section(report.cells);
    body +=
        "<h2>How to repeat this, or go on with it</h2>\n<p>Cells that are done are kept; a new --out repeats "
        "everything and spends new budgets.</p>\n<pre>" +
        escaped(report.command) + "</pre>\n";
    return page("Methods under one contract", body);
}

}  // namespace rldp::eval
