#include "eval/experiments/results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>
#include <cmath>

#include "base/data_names.hpp"
#include "base/kinds.hpp"
#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {

std::size_t count_done(const std::vector<measured>& cells) {
    return static_cast<std::size_t>(std::count_if(
        cells.begin(), cells.end(), [](const auto& one) { return one.result.state == cell_state::done; }));
}

bool any_insecure(const std::vector<measured>& cells) {
    return std::any_of(cells.begin(), cells.end(),
                       [](const auto& one) { return one.result.summary && one.result.summary->insecure_reproducible; });
}

statistic compute_statistic(const std::vector<double>& values) {
    statistic out{.n = values.size(), .mean = {}, .deviation = {}};
    if (values.empty()) return out;
    const auto n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double x : values) sum += x;
    out.mean = sum / n;
    for (const double x : values) squares += (x - *out.mean) * (x - *out.mean);
    if (values.size() > 1) out.deviation = std::sqrt(squares / (n - 1));
    return out;
}

std::string short_number(double value) {
    if (std::isnan(value)) return "not a number";
    if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
    return fmt::format("{:.4g}", value);
}

std::string in_words(const statistic& of) {
    if (!of.mean) return "–";
    auto out = short_number(*of.mean);
    if (of.deviation) out += " ± " + fmt::format("{:.2g}", *of.deviation);
    return out;
}

std::string plural(std::size_t count, const std::string& of) {
    return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s");
}

void expense::add(const measured& one) {
    const auto& [which, result] = one;
    if (!result.committed) return;
    if (!which.split) {
        ++made_up;
        return;
    }
    if (std::find(splits.begin(), splits.end(), *which.split) == splits.end()) splits.push_back(*which.split);
    raw = raw || result.committed->held_out == publication::raw;
    if (!result.committed->holds) {
        ++unbounded;
        return;
    }
    ++bounded;
    epsilon += result.committed->epsilon_guaranteed;
    delta += result.committed->delta;
}

std::string expense::why_no_sum() const {
    if (bounded + unbounded == 0) return "no cell has read real data";
    if (unbounded > 0) return plural(unbounded, "cell") + " read the data without any guarantee";
    const auto differ = keys_that_differ(splits);
    if (std::find(differ.begin(), differ.end(), "privacy.unit") != differ.end())
        return "the cells protect different units (privacy.unit), whose bounds don't add up";
    if (raw && splits.size() > 1)
        return fmt::format(
            "the cells do not share one split of the data (they differ in {}), so a unit that one trains on may be in "
            "another's held-out perplexity, which no contract covers",
            fmt::join(differ, ", "));
    return {};
}

std::vector<std::string> expense_sentences(const expense& cost) {
    std::vector<std::string> out;
    const auto why_not = cost.why_no_sum();
    if (why_not.empty())
        out.push_back(fmt::format(
            "{} read the training data under a bound; for someone who sees all their outputs, ε adds up to {:.4g} and "
            "δ to {:.4g} (basic composition, an upper bound). That is for {}; other runs on these data, and cells "
            "removed "
            "from here, come on top.",
            plural(cost.bounded, "cell"), cost.epsilon, cost.delta,
            cost.raw ? "the training units of the one split that all of them share, and assumes that held-out "
                       "perplexities concern units outside the contract"
                     : "every unit of the data"));
    else if (cost.bounded + cost.unbounded > 0)
        out.push_back(fmt::format("No sum of ε is given: {}.", why_not));
    if (cost.made_up > 0)
        out.push_back(
            fmt::format("{} read made-up records ({}N), which are nobody's: no one's budget was spent, no ε "
                        "is summed, and their splits may differ.",
                        plural(cost.made_up, "cell"), synthetic_prefix));
    return out;
}

nlohmann::ordered_json to_json(const expense& cost) {
    const auto why_not = cost.why_no_sum();
    nlohmann::ordered_json out = {{"epsilon_sum", nullptr}, {"delta_sum", nullptr}};
    if (why_not.empty()) {
        out["epsilon_sum"] = json_number(cost.epsilon);
        out["delta_sum"] = cost.delta;
    } else {
        out["no_sum_because"] = why_not;
    }
    out["cells_with_bound"] = cost.bounded;
    out["cells_without_bound"] = cost.unbounded;
    out["cells_of_made_up_data"] = cost.made_up;
    return out;
}

expense sum_expense(const std::vector<measured>& cells) {
    expense out;
    for (const auto& one : cells) out.add(one);
    return out;
}

std::string choosing_sentence(const expense& cost) {
    return cost.raw
               ? "Held-out perplexity is raw information about Eval units: it lies outside of every run's contract, "
                 "and what is chosen by this table is chosen with it."
               : "Held-out figures carry the noise of looks at held-out units, within each run's contract: "
                 "differences that are smaller than it say nothing.";
}

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

std::string csv_number(const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
}

// A guarantee that holds; nothing where the run has none.
std::optional<double> guaranteed(const cell_result& result) {
    if (!result.committed || !result.committed->holds) return std::nullopt;
    return result.committed->epsilon_guaranteed;
}

json result_json(const cell_result& result) {
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

/// What every cell's line ends with.
std::vector<cell_column> result_columns() {
    const auto of_summary = [](auto value) {
        return [value](const measured& one) { return one.result.summary ? value(*one.result.summary) : std::string(); };
    };
    std::vector<cell_column> out = {
        {"status",
         [](const measured& one) {
             return one.result.summary ? name_of(one.result.summary->how) : name_of(one.result.state);
         }},
        {"perplexity_before", of_summary([](const auto& done) { return csv_number(done.perplexity_before); })},
        {"perplexity_end", of_summary([](const auto& done) { return csv_number(done.perplexity_after); })},
        {"perplexity_best", of_summary([](const auto& done) { return csv_number(done.perplexity_best); })},
        {"guaranteed_epsilon", [](const measured& one) { return csv_number(guaranteed(one.result)); }}};
    for (const auto& name : all_names<accountant_kind>())
        out.push_back({"epsilon_" + name, of_summary([name](const auto& done) {
                           const auto spent = done.epsilon_spent.find(name);
                           return spent == done.epsilon_spent.end() ? std::string() : csv_number(spent->second);
                       })});
    out.push_back({"steps_planned", of_summary([](const auto& done) { return std::to_string(done.steps_planned); })});
    out.push_back({"steps_done", of_summary([](const auto& done) { return std::to_string(done.steps_done); })});
    return out;
}

}  // namespace

json to_json(const std::optional<double>& value) {
    return value ? json_number(*value) : json(nullptr);
}

json to_json(const statistic& of) {
    return {{"n", of.n}, {"mean", to_json(of.mean)}, {"deviation", to_json(of.deviation)}};
}

json to_json(const std::vector<measured>& cells, const std::function<json(const cell&)>& more) {
    auto out = json::array();
    for (const auto& [where, result] : cells) {
        json one = {{"id", where.id}};
        one.update(more(where));
        one.update(result_json(result));
        out.push_back(std::move(one));
    }
    return out;
}

std::string to_text(const json& document) {
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string to_csv(const std::vector<measured>& cells, std::vector<cell_column> columns) {
    columns.insert(columns.begin(), {"id", [](const measured& one) { return one.where.id; }});
    for (auto& one : result_columns()) columns.push_back(std::move(one));
    std::vector<std::string> fields;
    fields.reserve(columns.size());
    for (const auto& column : columns) fields.push_back(column.name);
    auto out = csv_line(fields);
    for (const auto& one : cells) {
        fields.clear();
        for (const auto& column : columns) fields.push_back(column.text(one));
        out += csv_line(fields);
    }
    return out;
}

std::string to_html(const experiment_page& what, const std::vector<measured>& cells) {
    std::vector<std::string> failed;
    for (const auto& [where, result] : cells)
        if (result.state == cell_state::failed) failed.push_back(where.id + ": failed; see trusted/");
    auto body = fmt::format("<header><h1>{}</h1>\n<p class=\"sub\">{}</p></header>\n", escaped(what.title),
                            escaped(what.subtitle)) +
                what.body + "<h2>What this says, and what it does not</h2>\n" + html_list(what.sentences);
    if (!failed.empty()) body += "<h2>Cells that failed</h2>\n" + html_list(failed);
    body += what.appendix +
            "<h2>How to repeat this, or go on with it</h2>\n<p>Cells that are done are kept; a new --out repeats "
            "everything and spends new budgets.</p>\n<pre>" +
            escaped(what.command) + "</pre>\n";
    return page(what.title, body);
}

}  // namespace rldp::eval
