#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>
#include <cmath>

#include "eval/experiments/comparison_files.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {
namespace {

std::size_t count(const score& one, cell_state state) {
    const auto found = one.cells.find(state);
    return found == one.cells.end() ? 0 : found->second;
}

// What the cells have in common besides their contract.
std::string footing(const compare_report& report) {
    const std::string split = report.plan.made_up
                                  ? "The data are made up, and cells of one seed share the split, the evaluation "
                                    "subset and the initial adapters."
                                  : "All cells share one split of the data and one evaluation subset, and those of "
                                    "one seed the initial adapters.";
    return split + (any_insecure(report.cells) ? " Cells of one seed share draws and noise too."
                                               : " Draws and noise are each run's own secret.");
}

}  // namespace

std::string in_words(const std::vector<std::int64_t>& seeds) {
    return seeds.empty() ? "–" : fmt::format("{}", fmt::join(seeds, ", "));
}

std::string in_words(const score& one, std::size_t seeds) {
    const auto failed = count(one, cell_state::failed);
    if (!one.end.mean) {
        if (failed > 0) return "failed";
        if (count(one, cell_state::unfinished) > 0) return "unfinished";
        return count(one, cell_state::not_run) > 0 ? "not run" : "–";
    }
    auto out = in_words(one.end);
    if (one.end.n < seeds) out += fmt::format(" ({} of {})", one.end.n, seeds);
    if (failed > 0) out += fmt::format(", {} failed", failed);
    if (one.exhausted > 0) out += fmt::format(", {} out of budget early", one.exhausted);
    return out;
}

std::string speed_sentence(const comparison& of) {
    if (!of.mean_fraction) return {};
    const auto runs = of.reaches.size(), reached = of.reached();
    if (reached == 0)
        return fmt::format("RLDP never reached the best baseline's final score, in {} run{}.", runs,
                           runs == 1 ? "" : "s");
    return fmt::format(
        "RLDP reached the best baseline's final score in {} of {} run{}. It took {:.0f} % of its steps on average, "
        "{:.0f} "
        "% in the median; a run that never did counts as 100 %.",
        reached, runs, runs == 1 ? "" : "s", 100 * *of.mean_fraction, 100 * *of.median_fraction);
}

std::vector<std::string> tuning_sentences(const compare_report& report) {
    const auto& plan = report.plan;
    if (!plan.tunes()) return {};
    std::vector<std::string> out = {
        fmt::format("Each method's learning rate is the best of {} by mean end perplexity over {} seed{} that {} not "
                    "reported, on {} "
                    "made-up records: no budget of the real data. A tie goes to the rate named first.",
                    plan.rates.size(), plan.tune_seeds.size(), plan.tune_seeds.size() == 1 ? "" : "s",
                    plan.tune_seeds.size() == 1 ? "is" : "are", plan.tuning_records)};
    out.emplace_back(
        "The sampling rate of tuning is the real run's as far as the number of made-up records makes it so "
        "(--tune-records); what is best on made-up records need not be best on the real ones.");
    const auto edges =
        std::count_if(report.tuned.begin(), report.tuned.end(), [](const auto& one) { return one.at_edge; });
    if (edges > 0)
        out.push_back(fmt::format(
            "{} of the rates chosen lie at the edge of the grid (marked *): a wider grid may be better.", edges));
    return out;
}

std::vector<std::string> caveats(const compare_report& report) {
    std::vector<std::string> out = {
        footing(report),
        choosing_sentence(report.cost),
        "The best baseline is the one of the lowest mean at that ε, chosen after the fact: that makes the bar for RLDP "
        "a little higher, not lower.",
        "Deviations are over seeds (n−1); with few seeds they say little, and nothing of how another split would do "
        "where all cells share one.",
    };
    for (const auto& method : report.plan.methods)
        if (method.part == role::unsound)
            out.push_back(method.name + " has no guarantee at any ε; it is shown and never compared.");
    if (any_insecure(report.cells))
        out.emplace_back("noise.insecure_reproducible is on: NONE of these runs has any guarantee.");
    return out;
}

namespace {

using json = nlohmann::ordered_json;

json plan_json(const compare_plan& plan) {
    json methods = json::array();
    for (const auto& one : plan.methods)
        methods.push_back(
            {{"name", one.name}, {"role", name_of(one.part)}, {"sentence", one.sentence}, {"overrides", one.set}});
    json out = {{"methods", methods},
                {"epsilons", plan.epsilons},
                {"seeds", plan.seeds},
                {"lr", plan.base_lr},
                {"data_made_up", plan.made_up}};
    if (plan.tunes())
        out["tuning"] = {{"rates", plan.rates}, {"seeds", plan.tune_seeds}, {"made_up_records", plan.tuning_records}};
    return out;
}

json score_json(const score& one) {
    json out = {{"method", one.method},
                {"role", name_of(one.part)},
                {"epsilon", one.epsilon},
                {"lr", to_json(one.lr)},
                {"end_perplexity", to_json(one.end)},
                {"best_perplexity", to_json(one.best)},
                {"guaranteed_epsilon", one.any_bound ? json_number(one.epsilon_guaranteed) : json(nullptr)},
                {"epsilon_spent", json::object()},
                {"cells", json::object()},
                {"out_of_budget_early", one.exhausted}};
    for (const auto& [name, value] : one.by_accountant) out["epsilon_spent"][name] = json_number(value);
    for (const auto& [state, count] : one.cells) out["cells"][name_of(state)] = count;
    return out;
}

json standing_json(const standing& one) {
    return {{"epsilon", one.epsilon},
            {"seeds", one.seeds},
            {"best_baseline", one.baseline ? json(*one.baseline) : json(nullptr)},
            {"baseline_end_perplexity", to_json(one.baseline_end)},
            {"rldp_end_perplexity", to_json(one.ours_end)},
            {"difference", to_json(one.difference)},
            {"ratio", to_json(one.ratio)}};
}

json comparison_json(const comparison& of) {
    json out = {{"scores", json::array()}, {"best_baselines", json::array()}};
    for (const auto& one : of.scores) out["scores"].push_back(score_json(one));
    for (const auto& one : of.standings) out["best_baselines"].push_back(standing_json(one));
    json fractions = json::array();
    for (const auto& one : of.reaches)
        fractions.push_back(
            {{"epsilon", one.epsilon}, {"seed", one.seed}, {"reached", one.reached}, {"fraction", one.fraction}});
    out["steps_to_best_baseline"] = {{"mean_fraction", to_json(of.mean_fraction)},
                                     {"median_fraction", to_json(of.median_fraction)},
                                     {"reached", of.reached()},
                                     {"of", of.reaches.size()},
                                     {"cells", fractions}};
    return out;
}

json tuning_json(const compare_report& report) {
    const auto& all = report.plan.rates;
    json out = json::array();
    for (const auto& one : report.tuned) {
        json rates = json::array();
        for (std::size_t i = 0; i < one.tried.size(); ++i)
            rates.push_back({{"lr", all[i]}, {"end_perplexity", to_json(one.tried[i])}});
        out.push_back({{"method", one.arm},
                       {"epsilon", one.epsilon},
                       {"lr", one.chosen ? json(all[*one.chosen]) : json(nullptr)},
                       {"at_the_edge", one.at_edge},
                       {"rates", rates}});
    }
    return out;
}

}  // namespace

compare_report make_report(const compare_plan& plan, std::vector<measured> cells, const std::string& command) {
    compare_report out{plan, std::move(cells), {}, {}, {}, {}, command};
    out.at_common = compare(plan, common_cells(out.cells));
    out.tuned = tune(plan, out.cells);
    if (plan.tunes()) out.at_own = compare(plan, cells_at_own_rate(plan, out.cells, out.tuned));
    out.cost = sum_expense(out.cells);
    return out;
}

std::string compare_json(const compare_report& report) {
    json out = {{"kind", "compare"}, {"command", report.command}, {"plan", plan_json(report.plan)}};
    out["at_common_lr"] = comparison_json(report.at_common);
    if (report.plan.tunes()) {
        out["tuning"] = tuning_json(report);
        out["at_own_lr"] = comparison_json(report.at_own);
    }
    out["cost"] = to_json(report.cost);
    out["cells"] = to_json(report.cells, [&](const cell& where) {
        return json{{"stage", where.at.at("stage")},
                    {"method", where.arm},
                    {"epsilon", where.epsilon},
                    {"seed", *where.seed},
                    {"lr", report.plan.find_rate(where)}};
    });
    return to_text(out);
}

std::string compare_csv(const compare_report& report) {
    const auto& plan = report.plan;
    return to_csv(report.cells,
                  {{"stage", [](const measured& one) { return one.where.at.at("stage"); }},
                   {"method", [](const measured& one) { return one.where.arm; }},
                   {"role",
                    [&](const measured& one) {
                        const auto method = std::find_if(plan.methods.begin(), plan.methods.end(),
                                                         [&](const arm& each) { return each.name == one.where.arm; });
                        return method == plan.methods.end() ? std::string() : name_of(method->part);
                    }},
                   {"epsilon", [](const measured& one) { return fmt::format("{}", one.where.epsilon); }},
                   {"seed", [](const measured& one) { return std::to_string(*one.where.seed); }},
                   {"lr", [&](const measured& one) { return fmt::format("{}", plan.find_rate(one.where)); }}});
}

// What `rldp compare` prints.

namespace {

using rows = std::vector<std::vector<std::string>>;

std::string signed_number(const std::optional<double>& value) {
    return value ? fmt::format("{}{}", *value > 0 ? "+" : "", short_number(*value)) : "–";
}

std::string scores_text(const compare_report& report, const comparison& of, bool own) {
    rows out(1, {"method"});
    for (const auto epsilon : report.plan.epsilons) out[0].push_back(fmt::format("ε = {}", epsilon));
    for (const auto& method : report.plan.methods) {
        out.push_back({method.name + (method.part == role::unsound ? " (no guarantee)" : "")});
        for (const auto& one : of.scores) {
            if (one.method != method.name) continue;
            auto words = own && !one.lr ? "not tuned yet" : in_words(one, report.plan.seeds.size());
            if (own && one.lr) words += fmt::format(" at {:g}", *one.lr);
            out.back().push_back(words);
        }
    }
    return text_table(out);
}

std::string standings_text(const comparison& of) {
    rows out = {{"ε", "best baseline", "its end perplexity", "RLDP's", "seeds", "difference", "ratio"}};
    for (const auto& one : of.standings)
        out.push_back({fmt::format("{}", one.epsilon), one.baseline.value_or("–"), in_words(one.baseline_end),
                       in_words(one.ours_end), in_words(one.seeds), signed_number(one.difference),
                       one.ratio ? short_number(*one.ratio) : "–"});
    const auto speed = speed_sentence(of);
    return text_table(out) + (speed.empty() ? "" : speed + "\n");
}

}  // namespace

std::string compare_text(const compare_report& report) {
    auto out = fmt::format("Held-out perplexity at the end, learning rate {:g}\n\n", report.plan.base_lr) +
               scores_text(report, report.at_common, false) + "\n" + standings_text(report.at_common);
    if (report.plan.tunes()) {
        out += "\nEach method at its own learning rate\n\n" + scores_text(report, report.at_own, true) + "\n" +
               standings_text(report.at_own);
        for (const auto& sentence : tuning_sentences(report)) out += sentence + "\n";
    }
    out += "\n";
    for (const auto& sentence : expense_sentences(report.cost)) out += sentence + "\n";
    return out;
}

report_files to_files(const compare_report& report) {
    return {compare_json(report), compare_csv(report), compare_html(report), compare_text(report)};
}

}  // namespace rldp::eval
