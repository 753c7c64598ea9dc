#include "monitor/http/api_json.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "config/base/utf8.hpp"

namespace rldp::monitor {

namespace {

using json = nlohmann::ordered_json;

/// A browser's JSON has no NaN.
json number(double value) {
    if (std::isfinite(value)) return value;
    return nullptr;
}

/// NaN where it never was.
json row(const run_view& run) {
    json out = {
        {"id", run.id},
        {"name", run.name},
        {"title", run.title},
        {"tags", run.tags},
        {"state", run.state},
        {"over", is_over(run)},
        {"method", run.method},
        {"model", run.model},
        {"data", run.data},
        {"step", run.step},
        {"steps", run.steps},
        {"loss", number(run.loss)},
        {"perplexity", number(run.perplexity)},
        {"perplexity_in",
         run.perplexity_in ? json{number(run.perplexity_in->low), number(run.perplexity_in->high)} : json(nullptr)},
        {"held_out", run.held_out},
        {"perplexity_before", number(run.perplexity_before)},
        {"value_nats", number(run.value_nats)},
        {"evaluated_step", run.evaluated_step},
        {"noise_multiplier", number(run.noise_multiplier)},
        {"progress_epsilon", number(run.epsilon_spent)},
        {"progress_step", run.progress_step},
        {"ledger_head", run.ledger_head},
        {"report", run.has_report},
        {"certificate", run.has_certificate}};
    if (!run.problem.empty()) out["problem"] = run.problem;
    if (run.contract) {
        out["guarantee"] = run.contract->any;
        out["guaranteed_epsilon"] = number(run.contract->epsilon_guaranteed);
        out["epsilon"] = number(run.contract->epsilon_budget);
        out["delta"] = number(run.contract->delta);
    }
    return out;
}

json contract(const contract_view& promised) {
    return {{"any", promised.any},
            {"headline", promised.headline},
            {"holds", promised.holds},
            {"does_not", promised.does_not},
            {"epsilon", number(promised.epsilon_budget)},
            {"delta", number(promised.delta)},
            {"guaranteed_epsilon", number(promised.epsilon_guaranteed)},
            {"unit", promised.unit},
            {"policy", promised.policy},
            {"accountant", promised.accountant}};
}

json points(const std::vector<point>& all) {
    auto out = json::array();
    for (const auto& one : all) out.push_back({one.step, one.value});
    return out;
}

/// By their cells' names.
std::map<std::string, const run_view*> runs_of(const grid_view& grid, const catalog& all) {
    const auto below = grid.name + "/cells/";
    std::map<std::string, const run_view*> out;
    for (const auto& one : all.runs())
        if (one->view().name.starts_with(below)) out.emplace(one->view().name.substr(below.size()), &one->view());
    return out;
}

json brief(const grid_view& grid, const catalog& all) {
    std::map<std::string, std::string> states;
    for (const auto& [name, run] : runs_of(grid, all)) states.emplace(name, run->state);
    for (const auto& one : grid.cells) states[one.name] = one.state;
    std::map<std::string, int> count;
    for (const auto& [name, state] : states) ++count[state];
    json out = {
        {"id", grid.id},         {"name", grid.name},         {"kind", grid.kind},          {"cells", states.size()},
        {"done", count["done"]}, {"failed", count["failed"]}, {"running", count["running"]}};
    if (!grid.problem.empty()) out["problem"] = grid.problem;
    return out;
}

/// Four digits, more than a colour shows.
json rounded(const std::vector<float>& values) {
    auto out = json::array();
    for (const float value : values) out.push_back(number(std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr)));
    return out;
}

/// As many snapshots as a heat map has room for, evenly, with the first and the last.
std::vector<const history::snapshot*> columns_of(const history& past) {
    constexpr std::size_t most = 128;
    const auto& all = past.snapshots();
    const auto count = std::min(all.size(), most);
    std::vector<const history::snapshot*> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(&all[count > 1 ? i * (all.size() - 1) / (count - 1) : 0]);
    return out;
}

/// Texts may come from files that are not UTF-8.
std::string text(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string label(const std::string& value) {
    std::string out;
    for (const char c : shown_text(value)) {
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
    return out;
}

}  // namespace

std::string run_row_json(const run_view& run) {
    return text(row(run));
}

std::string runs_json(const catalog& all, const std::string& program_version) {
    json out = {{"program", program_version}, {"version", all.version()}, {"runs", json::array()}};
    for (const auto& one : all.runs()) out["runs"].push_back(row(one->view()));
    auto& grids = out["grids"] = json::array();
    for (const auto& one : all.grids()) grids.push_back(brief(one->view(), all));
    return text(out);
}

std::string grid_json(const grid_view& grid, const catalog& all) {
    json out = {{"id", grid.id}, {"name", grid.name}, {"kind", grid.kind}};
    if (!grid.problem.empty()) out["problem"] = grid.problem;
    auto& cells = out["cells"] = json::array();
    const auto runs = runs_of(grid, all);
    auto rest = runs;
    for (const auto& one : grid.cells) {
        cells.push_back({{"name", one.name}, {"state", one.state}});
        const auto found = runs.find(one.name);
        if (found != runs.end()) cells.back()["run"] = row(*found->second);
        rest.erase(one.name);
    }
    for (const auto& [name, run] : rest) cells.push_back({{"name", name}, {"state", run->state}, {"run", row(*run)}});
    return text(out);
}

std::string run_json(const run_view& run, const history& past, std::int64_t from, std::int64_t to, std::size_t most) {
    auto out = row(run);
    out["version"] = run.version;
    if (run.contract) {
        out["contract"] = contract(*run.contract);
        auto& deck = out["deck"] = json::array();
        for (const auto& one : run.contract->deck)
            deck.push_back({{"noise_multiplier", number(one.noise_multiplier)},
                            {"planned", one.steps},
                            {"left", one.steps - past.steps_at(one.noise_multiplier)}});
    }
    out["groups"] = run.groups;
    out["controller"] = run.controller;
    out["notes"] = run.notes;
    out["warnings"] = run.warnings;
    auto& curves = out["curves"] = json::object();
    for (std::size_t i = 0; i < quantity_names.size(); ++i) {
        const auto which = static_cast<quantity>(i);
        if (!past.of(which).points().empty())
            curves[std::string(quantity_names[i])] = points(past.of(which).thinned(from, to, most));
    }
    auto& adapters = out["adapters"] = json::array();
    for (const auto* one : columns_of(past)) {
        json now = {{"step", one->step}, {"radii", rounded(one->radii)}};
        if (!one->rates.empty()) now["rates"] = rounded(one->rates);
        if (!one->shares.empty()) now["shares"] = rounded(one->shares);
        adapters.push_back(std::move(now));
    }
    return text(out);
}

std::string metrics_csv(const history& past) {
    std::string out = "step,quantity,value\n";
    for (std::size_t i = 0; i < quantity_names.size(); ++i)
        for (const auto& one : past.of(static_cast<quantity>(i)).points())
            out += fmt::format("{},{},{}\n", one.step, quantity_names[i], one.value);
    return out;
}

std::string prometheus_text(const catalog& all) {
    std::string out;
    const auto metric = [&](const char* name, const char* help, auto value_of) {
        out += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
        for (const auto& one : all.runs()) {
            const double value = value_of(one->view());
            if (!std::isnan(value)) out += fmt::format("{}{{run=\"{}\"}} {}\n", name, label(one->view().name), value);
        }
    };
    metric("rldp_step", "Steps made.", [](const run_view& run) { return static_cast<double>(run.step); });
    metric("rldp_steps_planned", "Steps planned.", [](const run_view& run) { return static_cast<double>(run.steps); });
    metric("rldp_epsilon_guaranteed", "Committed epsilon; absent where nothing is guaranteed.",
           [](const run_view& run) {
               return run.contract && run.contract->any ? run.contract->epsilon_guaranteed : unknown;
           });
    metric("rldp_epsilon_progress", "Epsilon of the steps so far; for orientation, no guarantee.",
           [](const run_view& run) { return run.epsilon_spent; });
    metric("rldp_loss_released_nats", "Mean token loss as released, with its noise.",
           [](const run_view& run) { return run.loss; });
    metric("rldp_perplexity", "Held-out perplexity of the last evaluation.",
           [](const run_view& run) { return run.perplexity; });
    metric("rldp_perplexity_low", "Where that lies with 95 %, of a look that carries noise: from.",
           [](const run_view& run) { return run.perplexity_in ? run.perplexity_in->low : unknown; });
    metric("rldp_perplexity_high", "The same: to.",
           [](const run_view& run) { return run.perplexity_in ? run.perplexity_in->high : unknown; });
    metric("rldp_noise_multiplier", "Noise multiplier of the last step.",
           [](const run_view& run) { return run.noise_multiplier; });
    metric("rldp_running", "1 while the run goes on.",
           [](const run_view& run) { return run.state == "running" || run.state == "starting" ? 1.0 : 0.0; });
    return out;
}

}  // namespace rldp::monitor
