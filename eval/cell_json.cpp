#include "eval/cell_json.hpp"

#include <fmt/format.h>

#include "eval/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* accountants[] = {"pld", "rdp", "gdp_clt"};

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
}

// A guarantee that holds; nothing where the run has none.
std::optional<double> guaranteed(const cell_result& result) {
    if (!result.committed || !result.committed->holds) return std::nullopt;
    return result.committed->guaranteed_epsilon;
}

}  // namespace

json to_json(const std::optional<double>& value) {
    return value ? json_number(*value) : json(nullptr);
}

json to_json(const statistic& of) {
    return {{"n", of.n}, {"mean", to_json(of.mean)}, {"deviation", to_json(of.deviation)}};
}

json to_json(const cell_result& result) {
    json out = {{"state", name_of(result.state)},
                {"seconds", result.history.seconds},
                {"starts", result.history.starts},
                {"guaranteed_epsilon", to_json(guaranteed(result))}};
    if (!result.failure.empty()) out["failure"] = result.failure;
    if (result.summary) out["summary"] = json::parse(to_json(*result.summary));
    for (const auto& [name, value] : result.attacks) out["attacks"][name] = json_number(value);
    out["curve"] = json::array();
    for (const auto& line : result.metrics)
        if (line.eval_perplexity) out["curve"].push_back({line.step, json_number(*line.eval_perplexity)});
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
    for (const char* name : accountants) out.push_back(std::string("epsilon_") + name);
    for (const char* name : {"seconds", "steps_planned", "steps_done"}) out.emplace_back(name);
    return out;
}

std::vector<std::string> result_fields(const cell_result& result) {
    const auto& summary = result.summary;
    std::vector<std::string> out = {summary ? summary->status : name_of(result.state),
                                    summary ? number(summary->perplexity_before) : "",
                                    summary ? number(summary->perplexity_after) : "",
                                    summary ? number(summary->perplexity_best) : "", number(guaranteed(result))};
    for (const char* name : accountants) {
        const bool known = summary && summary->epsilon.count(name) > 0;
        out.push_back(known ? number(summary->epsilon.at(name)) : "");
    }
    out.push_back(result.history.starts > 0 ? fmt::format("{:.1f}", result.history.seconds) : "");
    out.push_back(summary ? std::to_string(summary->steps_planned) : "");
    out.push_back(summary ? std::to_string(summary->steps_done) : "");
    return out;
}

}  // namespace rldp::eval
