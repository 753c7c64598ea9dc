#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

void run_view::observe(const eval::metrics_line& line) {
    const bool has_evaluation = line.eval_perplexity && line.step >= evaluated_step;
    const bool has_price = line.progress.step >= std::max<std::int64_t>(1, progress_step);
    const auto is_news = [&](eval::moment when) {
        return when == eval::moment::evaluation ? has_evaluation
               : when == eval::moment::price    ? has_price
                                                : line.step >= step;
    };
    for (const auto& row : eval::quantities) {
        if (!is_news(row.when)) continue;
        if (const auto found = row.value_in(line)) latest[row.which] = {*found, row.interval_in(line)};
    }
    if (has_evaluation) evaluated_step = line.step;
    if (has_price) progress_step = line.progress.step;
    if (line.step == 0 && line.eval_perplexity) perplexity_before = *line.eval_perplexity;
    step = std::max(step, line.step);
}

bool is_over(const run_view& run) {
    constexpr std::array<std::string_view, 5> ends = {"done", "budget exhausted", "interrupted", "failed", "damaged"};
    return std::find(ends.begin(), ends.end(), run.state) != ends.end();
}

bool goes_on(const run_view& run) {
    return run.state == "starting" || run.state == "running" || run.state == "stopping";
}

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t longest_text = 4096;                  // bytes, of a path
constexpr std::int64_t most_steps = 1'000'000'000'000'000;  // whole numbers and times made from them stay exact

json number(double value) {
    if (std::isfinite(value)) return value;
    return nullptr;
}

[[noreturn]] void refuse_row(const std::string& what) {
    refuse("not a run's row: " + what);
}

const json& at(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) refuse_row("'" + std::string(key) + "' is missing");
    return *found;
}

std::string text_at(const json& object, const char* key) {
    const auto& value = at(object, key);
    if (!value.is_string()) refuse_row("'" + std::string(key) + "' is no text");
    auto out = value.get<std::string>();
    if (out.size() > longest_text) refuse_row("'" + std::string(key) + "' is too long");
    if (shown_text(out) != out) refuse_row("'" + std::string(key) + "' has control characters");
    return out;
}

/// What a run's owner called something; empty where it is not told.
std::string shown_at(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    if (!found->is_string() || found->get_ref<const std::string&>().size() > longest_text)
        refuse_row("'" + std::string(key) + "' is no text, or too long");
    return shown_text(found->get_ref<const std::string&>());
}

std::vector<std::string> list_at(const json& object, const char* key) {
    constexpr std::size_t most = 256;
    const auto found = object.find(key);
    if (found == object.end()) return {};
    if (!found->is_array() || found->size() > most) refuse_row("'" + std::string(key) + "' is no list, or too long");
    std::vector<std::string> out;
    for (const auto& one : *found) {
        if (!one.is_string() || one.get_ref<const std::string&>().size() > longest_text)
            refuse_row("'" + std::string(key) + "' is no list of texts");
        out.push_back(shown_text(one.get_ref<const std::string&>()));
    }
    return out;
}

bool flag_at(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return false;
    if (!found->is_boolean()) refuse_row("'" + std::string(key) + "' is neither true nor false");
    return found->get<bool>();
}

std::int64_t count_at(const json& object, const char* key) {
    const auto& value = at(object, key);
    // Beyond int64_t nlohmann has whole numbers as unsigned ones.
    const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= std::uint64_t{most_steps}
                                                 : value.is_number_integer() && value.get<std::int64_t>() >= 0;
    if (!fits) refuse_row("'" + std::string(key) + "' is no count");
    return value.get<std::int64_t>();
}

/// NaN for null, and for a key that is not there: another version may know fewer.
double number_at(const json& object, const std::string& key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return unknown;
    if (!found->is_number()) refuse_row("'" + key + "' is not a number");
    return found->get<double>();
}

std::optional<eval::interval> interval_at(const json& object, const std::string& key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (!found->is_array() || found->size() != 2 || !found->at(0).is_number() || !found->at(1).is_number())
        refuse_row("'" + key + "' is no pair of numbers");
    return eval::interval{found->at(0).get<double>(), found->at(1).get<double>()};
}

}  // namespace

namespace {

/// Each field of a run's row, by name: a value, or a list of some.
template <class Value, class List>
void list_fields(const run_view& run, const Value& value, const List& list) {
    value("id", run.id);
    value("name", shown_text(run.name));
    value("title", run.title);
    list("tags", {run.tags.begin(), run.tags.end()});
    value("state", run.state);
    value("over", is_over(run));
    value("method", run.method);
    value("model", run.model);
    value("data", run.data);
    value("step", run.step);
    value("steps", run.steps);
    value("held_out", run.held_out);
    value("evaluated_step", run.evaluated_step);
    value("progress_step", run.progress_step);
    value("perplexity_before", number(run.perplexity_before));
    for (const auto& row : eval::quantities) {
        const auto& found = run.latest[row.which];
        const std::string name(row.name);
        value(name, number(found.value));
        if (!row.within) continue;
        if (found.within)
            list(name + "_in", {number(found.within->low), number(found.within->high)});
        else
            value(name + "_in", nullptr);
    }
    value("ledger_head", run.ledger_head);
    value("report", run.has_report);
    value("certificate", run.has_certificate);
    if (run.rows_asked > 0) list("made_up_rows", {run.rows_made, run.rows_asked});
    if (!run.problem.empty()) value("problem", run.problem);
    if (run.contract) {
        value("guarantee", run.contract->any);
        value("guaranteed_epsilon", number(run.contract->epsilon_guaranteed));
        value("epsilon", number(run.contract->epsilon_budget));
        value("delta", number(run.contract->delta));
    }
}

/// Of a value that is no list and no object.
std::string to_text(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

json to_json(const run_view& run) {
    auto out = json::object();
    list_fields(
        run, [&](const std::string& name, json value) { out[name] = std::move(value); },
        [&](const std::string& name, std::vector<json> values) { out[name] = std::move(values); });
    return out;
}

std::string to_row(const run_view& run) {
    // Not by way of to_json(): the destructor of nlohmann's lists and objects allocates, and where memory is short that
    // would end a server that writes rows all the time.
    std::string out;
    const auto begin = [&](const std::string& name) { out += (out.empty() ? "{" : ",") + to_text(name) + ":"; };
    list_fields(
        run,
        [&](const std::string& name, const json& value) {
            begin(name);
            out += to_text(value);
        },
        [&](const std::string& name, const std::vector<json>& values) {
            begin(name);
            out += '[';
            for (const auto& one : values) out.append(&one == values.data() ? "" : ",").append(to_text(one));
            out += ']';
        });
    return out + '}';
}

run_view parse_row(std::string_view line) {
    json object;
    try {
        object = json::parse(line);
    } catch (const json::exception&) {
        refuse_row("no JSON");
    }
    if (!object.is_object()) refuse_row("no JSON object");
    run_view out;
    out.id = text_at(object, "id");
    out.name = text_at(object, "name");
    out.state = text_at(object, "state");
    out.title = shown_at(object, "title");
    out.tags = list_at(object, "tags");
    out.method = shown_at(object, "method");
    out.model = shown_at(object, "model");
    out.data = shown_at(object, "data");
    out.held_out = shown_at(object, "held_out");
    out.ledger_head = shown_at(object, "ledger_head");
    out.problem = shown_at(object, "problem");
    out.has_report = flag_at(object, "report");
    out.has_certificate = flag_at(object, "certificate");
    out.step = count_at(object, "step");
    out.steps = count_at(object, "steps");
    out.evaluated_step = count_at(object, "evaluated_step");
    out.progress_step = count_at(object, "progress_step");
    out.perplexity_before = number_at(object, "perplexity_before");
    for (const auto& row : eval::quantities) {
        const std::string name(row.name);
        out.latest[row.which] = {number_at(object, name),
                                 row.within ? interval_at(object, name + "_in") : std::nullopt};
    }
    if (!object.contains("guarantee")) return out;
    auto& promised = out.contract.emplace();
    promised.any = flag_at(object, "guarantee");
    promised.epsilon_budget = number_at(object, "epsilon");
    promised.delta = number_at(object, "delta");
    promised.epsilon_guaranteed = number_at(object, "guaranteed_epsilon");
    return out;
}

}  // namespace rldp::monitor
