#include "monitor/stream/telemetry_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/utf8.hpp"
#include "eval/metrics/json_number.hpp"

namespace rldp::monitor {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t longest_text = 256;                   // bytes
constexpr std::int64_t most_steps = 1'000'000'000'000'000;  // whole numbers and times made from them stay exact
constexpr std::size_t most_radii = 1'000'000;

/// A directory, after which a run is called, may have any name.
std::string acceptable(const std::string& given) {
    const auto out = shown_text(given);
    auto end = std::min(out.size(), longest_text);
    while (end < out.size() && (static_cast<unsigned char>(out[end]) & 0xc0U) == 0x80U) --end;
    return out.substr(0, end);
}

[[noreturn]] void refuse_telemetry(const std::string& what) {
    refuse("not a run's telemetry: " + what);
}

const json& at(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) refuse_telemetry("'" + std::string(key) + "' is missing");
    return *found;
}

std::string text(const json& object, const char* key) {
    const auto& value = at(object, key);
    if (!value.is_string()) refuse_telemetry("'" + std::string(key) + "' is no text");
    auto out = value.get<std::string>();
    if (out.size() > longest_text) refuse_telemetry("'" + std::string(key) + "' is too long");
    if (shown_text(out) != out) refuse_telemetry("'" + std::string(key) + "' has control characters");
    return out;
}

std::int64_t count(const json& object, const char* key) {
    const auto& value = at(object, key);
    // Beyond int64_t nlohmann has whole numbers as unsigned ones.
    const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= std::uint64_t{most_steps}
                                                 : value.is_number_integer() && value.get<std::int64_t>() >= 0;
    if (!fits) refuse_telemetry("'" + std::string(key) + "' is no count");
    return value.get<std::int64_t>();
}

double number(const json& value, const char* key) {
    try {
        return eval::number_from(value);
    } catch (const error&) {  // whose line quotes the value, however long
        refuse_telemetry("'" + std::string(key) + "' is not a number");
    }
}

double number_at(const json& object, const char* key) {
    return number(at(object, key), key);
}

std::vector<double> radii(const json& object) {
    const auto& values = at(object, "radii");
    if (!values.is_array()) refuse_telemetry("'radii' is no list");
    if (values.size() > most_radii) refuse_telemetry("too many radii");
    std::vector<double> out;
    for (const auto& value : values) out.push_back(number(value, "radii"));
    return out;
}

}  // namespace

std::string to_json(const monitor::telemetry& value) {
    json out;
    out["run"] = acceptable(value.run);
    out["state"] = acceptable(value.state);
    out["step"] = value.step;
    out["steps"] = value.steps;
    out["loss"] = eval::json_number(value.loss);
    out["noise_multiplier"] = eval::json_number(value.noise_multiplier);
    out["progress_epsilon"] = eval::json_number(value.epsilon_spent);
    out["progress_step"] = value.progress_step;
    out["guaranteed_epsilon"] = eval::json_number(value.epsilon_guaranteed);
    out["epsilon"] = eval::json_number(value.epsilon_budget);
    out["evaluated_step"] = value.evaluated_step;
    out["perplexity"] = eval::json_number(value.perplexity);
    out["perplexity_low"] = eval::json_number(value.perplexity_low);
    out["perplexity_high"] = eval::json_number(value.perplexity_high);
    auto& list = out["radii"] = json::array();
    for (const double radius : value.radii) list.push_back(eval::json_number(radius));
    return out.dump();
}

monitor::telemetry telemetry_from(std::string_view line) {
    json object;
    try {
        object = json::parse(line);
    } catch (const json::exception&) {
        refuse_telemetry("no JSON");
    }
    if (!object.is_object()) refuse_telemetry("no JSON object");
    monitor::telemetry out;
    out.run = text(object, "run");
    out.state = text(object, "state");
    out.step = count(object, "step");
    out.steps = count(object, "steps");
    out.loss = number_at(object, "loss");
    out.noise_multiplier = number_at(object, "noise_multiplier");
    out.epsilon_spent = number_at(object, "progress_epsilon");
    out.progress_step = count(object, "progress_step");
    out.epsilon_guaranteed = number_at(object, "guaranteed_epsilon");
    out.epsilon_budget = number_at(object, "epsilon");
    out.evaluated_step = count(object, "evaluated_step");
    out.perplexity = number_at(object, "perplexity");
    out.perplexity_low = number_at(object, "perplexity_low");
    out.perplexity_high = number_at(object, "perplexity_high");
    out.radii = radii(object);
    return out;
}

}  // namespace rldp::monitor
