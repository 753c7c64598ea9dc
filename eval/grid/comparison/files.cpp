#include "eval/grid/comparison/files.hpp"

#include <fmt/format.h>

#include "config/base/files.hpp"
#include "eval/grid/cell_json.hpp"
#include "eval/metrics/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

json plan_json(const compare_plan& plan) {
    json methods = json::array();
    for (const auto& one : plan.methods)
        methods.push_back({{"name", one.name},
                           {"role", name_of(one.part)},
                           {"sentence", one.sentence},
                           {"overrides", one.overrides}});
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
    json out = json::array();
    for (const auto& one : report.tuning_results) {
        json rates = json::array();
        for (std::size_t i = 0; i < report.plan.rates.size(); ++i)
            rates.push_back({{"lr", report.plan.rates[i]}, {"end_perplexity", to_json(one.end[i])}});
        out.push_back({{"method", one.method},
                       {"epsilon", one.epsilon},
                       {"lr", to_json(one.best)},
                       {"at_the_edge", one.at_edge},
                       {"rates", rates}});
    }
    return out;
}

json cell_json(const measured& one) {
    json out = {{"id", one.where.run.id},       {"stage", name_of(one.where.when)}, {"method", one.where.method},
                {"epsilon", one.where.epsilon}, {"seed", one.where.seed},           {"lr", one.where.lr}};
    out.update(to_json(one.result));
    return out;
}

}  // namespace

compare_report make_report(const compare_plan& plan, std::vector<measured> cells, const std::string& command) {
    compare_report out{plan, std::move(cells), {}, {}, {}, {}, command};
    out.at_common = compare(plan, common(out.cells));
    out.tuning_results = tunings(plan, out.cells);
    if (plan.tunes()) out.at_own = compare(plan, tuned(out.cells, chosen(out.tuning_results)));
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
    out["cells"] = json::array();
    for (const auto& one : report.cells) out["cells"].push_back(cell_json(one));
    // A command line may hold bytes that are not UTF-8.
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string compare_csv(const compare_report& report) {
    std::vector<std::string> names = {"id", "stage", "method", "role", "epsilon", "seed", "lr"};
    const auto columns = result_columns();
    names.insert(names.end(), columns.begin(), columns.end());
    auto out = csv_line(names);
    for (const auto& [where, result] : report.cells) {
        std::string part;
        for (const auto& method : report.plan.methods)
            if (method.name == where.method) part = name_of(method.part);
        std::vector<std::string> fields = {where.run.id,
                                           name_of(where.when),
                                           where.method,
                                           part,
                                           fmt::format("{}", where.epsilon),
                                           std::to_string(where.seed),
                                           fmt::format("{}", where.lr)};
        const auto more = result_fields(result);
        fields.insert(fields.end(), more.begin(), more.end());
        out += csv_line(fields);
    }
    return out;
}

void write_files(const std::filesystem::path& out, const compare_report& report) {
    write_file(out / "compare.json", compare_json(report));
    write_file(out / "compare.csv", compare_csv(report));
    write_file(out / "compare.html", compare_html(report));
}

}  // namespace rldp::eval
