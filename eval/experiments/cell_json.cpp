#include "eval/experiments/cell_json.hpp"

#include <fmt/format.h>

#include "base/kinds.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

// Of a summary, what a page that is passed on shows: no counts of units, no warnings, nothing that a crash decides.
constexpr const char* shown_keys[] = {"version",
                                      "status",
                                      "method",
                                      "steps_planned",
                                      "steps_done",
                                      "perplexity_before",
                                      "perplexity_after",
                                      "perplexity_best",
                                      "value_nats_before",
                                      "value_nats_after",
                                      "marginal_nats",
                                      "bits_per_byte_before",
                                      "bits_per_byte_after",
                                      "target",
                                      "epsilon_budget",
                                      "delta",
                                      "guaranteed_epsilon",
                                      "epsilon",
                                      "upper_bound",
                                      "sample_rate",
                                      "bands",
                                      "policy",
                                      "deck",
                                      "allocation",
                                      "semantics",
                                      "unit",
                                      "split",
                                      "insecure_reproducible",
                                      "trainable_parameters",
                                      "groups",
                                      "printed_formula_epsilon",
                                      "tight_epsilon_as_released"};

json shown(const run_summary& summary) {
    const auto all = json::parse(to_json(summary));
    json out = json::object();
    for (const char* key : shown_keys)
        if (all.contains(key)) out[key] = all[key];
    return out;
}

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
}

// A guarantee that holds; nothing where the run has none.
std::optional<double> guaranteed(const cell_result& result) {
    if (!result.committed || !result.committed->holds) return std::nullopt;
    return result.committed->epsilon_guaranteed;
}

}  // namespace

json to_json(const std::optional<double>& value) {
    return value ? json_number(*value) : json(nullptr);
}

json to_json(const statistic& of) {
    return {{"n", of.n}, {"mean", to_json(of.mean)}, {"deviation", to_json(of.deviation)}};
}

json to_json(const cell_result& result) {
    json out = {{"state", name_of(result.state)}, {"guaranteed_epsilon", to_json(guaranteed(result))}};
    if (result.state == cell_state::failed) out["failure"] = "see trusted/";
    if (result.summary) out["summary"] = shown(*result.summary);
    out["curve"] = json::array();
    for (const auto& line : result.metrics)
        if (line.eval_perplexity) out["curve"].push_back({line.step, json_number(*line.eval_perplexity)});
    for (const auto& line : result.metrics)
        if (line.eval_value_nats) out["value_nats_curve"].push_back({line.step, json_number(*line.eval_value_nats)});
    return out;
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
    std::string out;
    for (const auto& field : fields) out += csv_field(field) + ',';
    if (!out.empty()) out.pop_back();
    return out + '\n';
}

std::vector<std::string> result_columns() {
    std::vector<std::string> out = {"status", "perplexity_before", "perplexity_end", "perplexity_best",
                                    "guaranteed_epsilon"};
    for (const auto& name : all_names<accountant_kind>()) out.push_back("epsilon_" + name);
    for (const char* name : {"steps_planned", "steps_done"}) out.emplace_back(name);
    return out;
}

std::vector<std::string> result_fields(const cell_result& result) {
    const auto& summary = result.summary;
    std::vector<std::string> out = {summary ? name_of(summary->how) : name_of(result.state),
                                    summary ? number(summary->perplexity_before) : "",
                                    summary ? number(summary->perplexity_after) : "",
                                    summary ? number(summary->perplexity_best) : "", number(guaranteed(result))};
    for (const auto& name : all_names<accountant_kind>()) {
        const bool known = summary && summary->epsilon_spent.count(name) > 0;
        out.push_back(known ? number(summary->epsilon_spent.at(name)) : "");
    }
    out.push_back(summary ? std::to_string(summary->steps_planned) : "");
    out.push_back(summary ? std::to_string(summary->steps_done) : "");
    return out;
}

}  // namespace rldp::eval
