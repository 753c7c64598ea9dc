#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/strict_json.hpp"
#include "run/artifacts/json_number.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

void put(json& out, const char* key, const std::optional<double>& value) {
    if (value) out[key] = json_number(*value);
}

void put(json& out, const char* key, const std::optional<interval>& value) {
    if (value) out[key] = {json_number(value->low), json_number(value->high)};
}

std::optional<interval> optional_interval(const json& in, const char* key) {
    if (!in.contains(key)) return std::nullopt;
    return interval{number_from(in.at(key).at(0)), number_from(in.at(key).at(1))};
}

std::optional<double> optional_number(const json& in, const char* key) {
    if (!in.contains(key)) return std::nullopt;
    return number_from(in.at(key));
}

void take(const json& in, const char* key, std::optional<double>& value) {
    value = optional_number(in, key);
}

void take(const json& in, const char* key, std::optional<interval>& value) {
    value = optional_interval(in, key);
}

/// Figures of held-out units, in the file's order: each is absent where it was not found.
struct figure {
    const char* key;
    std::variant<std::optional<double> run_summary::*, std::optional<interval> run_summary::*> member;
};
constexpr figure figures[] = {
    {"perplexity_before_in", &run_summary::perplexity_before_in},
    {"perplexity_after", &run_summary::perplexity_after},
    {"perplexity_after_in", &run_summary::perplexity_after_in},
    {"perplexity_best", &run_summary::perplexity_best},
    {"template_perplexity", &run_summary::template_perplexity},
    {"value_nats_before", &run_summary::value_nats_before},
    {"value_nats_after", &run_summary::value_nats_after},
    {"value_token_nats_before", &run_summary::value_token_nats_before},
    {"value_token_nats_before_in", &run_summary::value_token_nats_before_in},
    {"value_token_nats_after", &run_summary::value_token_nats_after},
    {"value_token_nats_after_in", &run_summary::value_token_nats_after_in},
    {"accuracy_before", &run_summary::accuracy_before},
    {"accuracy_after", &run_summary::accuracy_after},
    {"accuracy_before_in", &run_summary::accuracy_before_in},
    {"accuracy_after_in", &run_summary::accuracy_after_in},
    {"marginal_nats", &run_summary::marginal_nats},
    {"bits_per_byte_before", &run_summary::bits_per_byte_before},
    {"bits_per_byte_after", &run_summary::bits_per_byte_after},
};

}  // namespace

json to_json(const run_summary::target_scores& scores) {
    json out = {{"column", scores.column}, {"auc_before", scores.auc_before}, {"auc_after", scores.auc_after}};
    put(out, "auc_before_in", scores.auc_before_in);
    put(out, "auc_after_in", scores.auc_after_in);
    out["accuracy_before"] = scores.accuracy_before;
    out["accuracy_after"] = scores.accuracy_after;
    if (scores.records > 0) out["records"] = scores.records;
    return out;
}

std::string to_json(const run_summary& s) {
    json out = {{"version", s.version},
                {"date", s.date},
                {"name", s.name},
                {"tags", s.tags},
                {"notes", s.notes},
                {"model", s.model},
                {"data", s.data},
                {"status", name_of(s.how)},
                {"steps_planned", s.steps_planned},
                {"steps_done", s.steps_done},
                {"units", s.units},
                {"trainable_parameters", s.trainable_parameters},
                {"groups", s.groups},
                {"held_out", name_of(s.held_out)}};
    if (s.looks > 0) out["looks"] = {{"count", s.looks}, {"noise_multiplier", s.looks_noise_multiplier}};
    if (!std::isnan(s.perplexity_before)) put(out, "perplexity_before", s.perplexity_before);
    for (const auto& one : figures) std::visit([&](const auto member) { put(out, one.key, s.*member); }, one.member);
    if (s.target) out["target"] = to_json(*s.target);
    out["epsilon_budget"] = json_number(s.epsilon_budget);
    out["delta"] = json_number(s.delta);
    out["guaranteed_epsilon"] = json_number(s.epsilon_guaranteed);
    out["epsilon"] = json::object();
    for (const auto& [name, value] : s.epsilon_spent) out["epsilon"][name] = json_number(value);
    out["upper_bound"] = json::object();
    for (const auto& [name, value] : s.upper_bound) out["upper_bound"][name] = value;
    out["sample_rate"] = json_number(s.sample_rate);
    out["bands"] = s.bands;
    out["runs"] = s.runs;
    out["method"] = s.method;
    out["policy"] = s.policy;
    out["deck"] = json::array();
    for (const auto& [multiplier, steps] : s.deck)
        out["deck"].push_back({{"noise_multiplier", multiplier}, {"steps", steps}});
    out["allocation"] = s.allocation;
    out["semantics"] = name_of(s.semantics);
    out["unit"] = s.unit;
    out["split"] = s.split;
    out["insecure_reproducible"] = s.insecure_reproducible;
    put(out, "printed_formula_epsilon", s.printed_formula_epsilon);
    put(out, "tight_epsilon_as_released", s.tight_epsilon_as_released);
    if (!s.kept.empty()) out["kept_iterate"] = s.kept;
    if (!s.controller.empty()) out["controller"] = s.controller;
    out["base_parameters"] = s.base_parameters;
    out["samples"] = s.samples;
    if (!s.table.rows.empty()) out["table"] = {{"columns", s.table.columns}, {"rows", s.table.rows}};
    out["warnings"] = s.warnings;
    // A warning may quote a file that is not UTF-8.
    return out.dump(2, ' ', false, json::error_handler_t::replace);
}

run_summary parse_summary(const std::string& text) try {
    const auto in = json::parse(text);
    run_summary s;
    in.at("version").get_to(s.version);
    s.date = in.value("date", "");
    s.name = in.value("name", "");
    s.tags = in.value("tags", std::vector<std::string>());
    s.notes = in.value("notes", "");
    s.model = in.value("model", "");
    s.data = in.value("data", "");
    s.how = ending_from(in.at("status").get<std::string>());
    s.steps_planned = to_integer(in.at("steps_planned"));
    s.steps_done = to_integer(in.at("steps_done"));
    s.units = to_integer(in.at("units"));
    s.trainable_parameters = to_integer(in.at("trainable_parameters"));
    in.at("groups").get_to(s.groups);
    s.held_out = parse_named<publication>(in.value("held_out", "raw"));
    if (in.contains("looks")) {
        s.looks = to_integer(in["looks"].at("count"));
        in["looks"].at("noise_multiplier").get_to(s.looks_noise_multiplier);
    }
    s.perplexity_before = optional_number(in, "perplexity_before").value_or(std::nan(""));
    for (const auto& one : figures) std::visit([&](const auto member) { take(in, one.key, s.*member); }, one.member);
    if (in.contains("target")) {
        const auto& target = in["target"];
        s.target = run_summary::target_scores{.column = target.at("column").get<std::string>(),
                                              .auc_before = target.at("auc_before").get<double>(),
                                              .auc_after = target.at("auc_after").get<double>(),
                                              .accuracy_before = target.at("accuracy_before").get<double>(),
                                              .accuracy_after = target.at("accuracy_after").get<double>(),
                                              .auc_before_in = optional_interval(target, "auc_before_in"),
                                              .auc_after_in = optional_interval(target, "auc_after_in"),
                                              .records = target.value("records", std::int64_t{0})};
    }
    s.epsilon_budget = number_from(in.at("epsilon_budget"));
    s.delta = number_from(in.at("delta"));
    s.epsilon_guaranteed = number_from(in.at("guaranteed_epsilon"));
    for (const auto& [name, value] : in.at("epsilon").items()) s.epsilon_spent[name] = number_from(value);
    for (const auto& [name, value] : in.at("upper_bound").items()) s.upper_bound[name] = value.get<bool>();
    s.sample_rate = number_from(in.at("sample_rate"));
    s.bands = in.contains("bands") ? to_integer(in["bands"]) : 1;  // of an earlier version
    s.runs = in.contains("runs") ? to_integer(in["runs"]) : 1;     // likewise
    s.method = in.value("method", "");
    in.at("policy").get_to(s.policy);
    for (const auto& level : in.at("deck"))
        s.deck.emplace_back(level.at("noise_multiplier").get<double>(), to_integer(level.at("steps")));
    in.at("allocation").get_to(s.allocation);
    s.semantics = parse_named<semantics>(in.at("semantics").get<std::string>());
    in.at("unit").get_to(s.unit);
    in.at("split").get_to(s.split);
    in.at("insecure_reproducible").get_to(s.insecure_reproducible);
    s.printed_formula_epsilon = optional_number(in, "printed_formula_epsilon");
    s.tight_epsilon_as_released = optional_number(in, "tight_epsilon_as_released");
    s.kept = in.value("kept_iterate", "");
    s.controller = in.value("controller", std::vector<std::string>());
    if (in.contains("base_parameters")) s.base_parameters = to_integer(in.at("base_parameters"));
    s.samples = in.value("samples", std::vector<std::string>());
    if (in.contains("table")) {
        in["table"].at("columns").get_to(s.table.columns);
        in["table"].at("rows").get_to(s.table.rows);
        for (const auto& row : s.table.rows)
            if (row.size() != s.table.columns.size()) refuse("run summary: a row of table has other columns");
    }
    in.at("warnings").get_to(s.warnings);
    return s;
} catch (const json::exception& reason) {
    refuse(fmt::format("run summary: {}", reason.what()));
}

}  // namespace rldp::eval
