#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.hpp"
#include "config/open_keys.hpp"
#include "eval/report/page.hpp"
#include "eval/report/run_report.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/guarantees.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {

namespace {

/// Whether adapters are on attention alone, as they are by default.
bool adapts_attention_alone(const std::string& config_json) {
    const auto all = nlohmann::json::parse(config_json, nullptr, false);
    const auto at = [&](const char* pointer) {
        const nlohmann::json::json_pointer where(pointer);
        return all.contains(where) ? all.at(where) : nlohmann::json();
    };
    const auto targets = at("/lora/targets");
    if (!targets.is_array() || !at("/train/parameters").is_null()) return false;
    constexpr std::array<std::string_view, 8> attention{"q", "k", "v", "o", "q_proj", "k_proj", "v_proj", "o_proj"};
    return std::all_of(targets.begin(), targets.end(), [&](const auto& one) {
        return std::find(attention.begin(), attention.end(), one) != attention.end();
    });
}

/// z/B, the noise in the mean of a batch, in clip radii.
double noise_per_unit(const run_summary& s, const std::vector<metrics_line>& metrics) {
    double most = 0;
    for (const auto& line : metrics) most = std::max(most, line.noise_multiplier);
    return most / (s.sample_rate * static_cast<double>(s.units));
}

/// Whether the last look saw a lower loss than the one before, beyond what noise does to the two.
bool still_fell(const std::vector<metrics_line>& metrics) {
    std::vector<const metrics_line*> looks;
    for (const auto& line : metrics)
        if (line.eval_perplexity && *line.eval_perplexity > 0) looks.push_back(&line);
    if (looks.size() < 2) return false;
    const auto &last = *looks.back(), &before = *looks[looks.size() - 2];
    if (last.eval_perplexity_in && before.eval_perplexity_in)
        return last.eval_perplexity_in->high < before.eval_perplexity_in->low;
    constexpr double visible = 0.02;  // nats per token
    return std::log(*before.eval_perplexity) - std::log(*last.eval_perplexity) > visible;
}

constexpr std::int64_t million = 1'000'000;

}  // namespace

std::string advise_next(const run_summary& s, const std::vector<metrics_line>& metrics,
                        const std::string& config_json) {
    if (s.how == ending::interrupted) return "go on with it: rldp run --resume";
    if (s.steps_done < config::least_steps)
        return fmt::format(
            "more steps: {} are few, and below {} steps and not noise are short; give train.steps, or leave it out, "
            "and "
            "rldp plan --minutes fits a budget of time",
            s.steps_done, config::least_steps);
    if (s.base_parameters > 0 && s.base_parameters < 50 * million)
        return fmt::format(
            "a larger model: one of {:.1f} million parameters learns what records look like and little of how their "
            "values hang together, and noise does not grow with the frozen part (rldp models)",
            static_cast<double>(s.base_parameters) / million);
    if (adapts_attention_alone(config_json))
        return "adapters on all linear modules, lora.targets [\"all-linear\"], where memory allows: worth more than "
               "any "
               "method where it was measured";
    constexpr double loud = 0.02;
    if (const auto noise = noise_per_unit(s, metrics); noise > loud)
        return fmt::format(
            "more units, or a larger epsilon where it may be: noise of {:.2g} clip radii for each unit of a batch "
            "drowns "
            "most of what they say",
            noise);
    if (still_fell(metrics))
        return "more steps: the held-out loss still fell at the last look; rldp plan --minutes fits a budget of time";
    if (s.base_parameters > 0 && s.base_parameters < 1000 * million)
        return "a larger model, as far as memory and time allow (rldp check says both)";
    return "nothing that docs/choosing.md knows of";
}

namespace {

using rows = std::vector<std::pair<std::string, std::string>>;  // HTML

std::string or_dash(const std::optional<double>& value) {
    return value && !std::isnan(*value) ? readable(*value) : "–";
}

std::string table(const std::string& caption, const rows& content) {
    std::string out = "<table><caption>" + caption + "</caption>\n";
    for (const auto& [name, value] : content)
        out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, value);
    return out + "</table>\n";
}

std::string card(const std::string& value, const std::string& what) {
    return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", value, what);
}

std::string perplexity_change(const run_summary& s) {
    if (!s.perplexity_after || !(s.perplexity_before > 0)) return "held-out perplexity before training";
    const double percent = 100 * (*s.perplexity_after / s.perplexity_before - 1);
    auto out =
        fmt::format("held-out perplexity, before → after ({}{:.1f} %)", percent < 0 ? "−" : "+", std::abs(percent));
    if (s.perplexity_after_in)
        out += fmt::format("; with 95 % from {} to {}, for the noise of a look", readable(s.perplexity_after_in->low),
                           readable(s.perplexity_after_in->high));
    if (const auto learned = what_was_learned(s); !learned.empty()) out += "; " + learned;
    return out;
}

std::string make_title(const run_summary& s) {
    return s.name.empty() ? "Private fine-tuning report" : "Private fine-tuning: " + s.name;
}

/// What was trained on what, when; then what its owner says of it.
std::string particulars(const run_summary& s) {
    std::vector<std::string> parts;
    if (!s.model.empty()) parts.push_back("model " + s.model);
    if (!s.data.empty()) parts.push_back("data " + s.data);
    if (!s.date.empty()) parts.push_back(s.date);
    parts.push_back("RLDP " + s.version);
    parts.push_back(
        fmt::format("{}, {} of {} steps", name_of(s.how), readable(s.steps_done), readable(s.steps_planned)));
    for (const auto& tag : s.tags) parts.push_back("#" + tag);
    auto out = "<p class=\"sub\">" + escaped(fmt::format("{}", fmt::join(parts, " · "))) + "</p>\n";
    if (!s.notes.empty()) out += "<p class=\"said\">" + escaped(s.notes) + "</p>\n";
    return out;
}

std::string head(const run_summary& s, const guarantees& claims) {
    std::string out = "<header><h1>" + escaped(make_title(s)) + "</h1>\n" + particulars(s) + "<div class=\"cards\">\n";
    const auto before = or_dash(s.perplexity_before);
    if (s.held_out == publication::none)
        out += card("kept", "held-out figures are not published; the owner has them");
    else
        out += card(s.perplexity_after ? before + " → " + readable(*s.perplexity_after) : before, perplexity_change(s));
    out += claims.any
               ? card("ε = " + readable(s.epsilon_guaranteed),
                      "guaranteed, at δ = " + readable(s.delta) + ", of a budget of " + readable(s.epsilon_budget))
               : card("none", "guaranteed; a budget of ε = " + readable(s.epsilon_budget) + " was asked for");
    out += card(readable(s.trainable_parameters), fmt::format("trainable parameters in {} clip group{}",
                                                              s.groups.size(), s.groups.size() == 1 ? "" : "s"));
    out += "</div></header>\n";
    out += fmt::format("<p class=\"note{}\">{}</p>\n", claims.any ? " good" : " bad", claims.headline);
    for (const auto& warning : s.warnings) out += "<p class=\"note\">" + escaped(warning) + "</p>\n";
    return out;
}

std::string accountants(const run_summary& s, bool any_guarantee) {
    std::string out =
        "<table><caption>ε of the steps made, by accountant</caption><thead><tr><th>accountant</th><th "
        "class=\"n\">ε</th>"
        "<th class=\"n\">upper bound</th></tr></thead>\n";
    for (const auto& [name, epsilon] : s.epsilon_spent) {
        const auto found = s.upper_bound.find(name);
        const bool bound = found != s.upper_bound.end() && found->second;
        const char* holds = !any_guarantee ? "not of this run" : bound ? "yes" : "no, can under-report";
        out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n", escaped(name),
                           readable(epsilon), holds);
    }
    return out + "</table>\n";
}

std::string numbers(const run_summary& s, bool any_guarantee) {
    rows utility;
    if (s.held_out == publication::none)
        utility.emplace_back("held-out figures", "not published");
    else
        utility = {{"perplexity before", with_interval(s.perplexity_before, s.perplexity_before_in)},
                   {"perplexity after", with_interval(s.perplexity_after, s.perplexity_after_in)},
                   {"best perplexity seen", or_dash(s.perplexity_best)}};
    if (s.template_perplexity)
        utility.emplace_back("perplexity of the template alone", readable(*s.template_perplexity));
    if (!s.kept.empty()) utility.emplace_back("iterate kept, by public records", escaped(s.kept));
    const auto change = [&](const std::string& name, const std::optional<double>& before,
                            const std::optional<double>& after, const std::optional<interval>& before_in = {},
                            const std::optional<interval>& after_in = {}) {
        if (after)
            utility.emplace_back(name + ", before → after",
                                 with_interval(before, before_in) + " → " + with_interval(after, after_in));
    };
    change("nats on a record's values", s.value_nats_before, s.value_nats_after);
    change("nats per token that carries a value", s.value_token_nats_before, s.value_token_nats_after,
           s.value_token_nats_before_in, s.value_token_nats_after_in);
    change("accuracy of eval.target", s.accuracy_before, s.accuracy_after, s.accuracy_before_in, s.accuracy_after_in);
    if (s.marginal_nats) utility.emplace_back("the same by the columns' marginals alone", readable(*s.marginal_nats));
    change("bits per byte", s.bits_per_byte_before, s.bits_per_byte_after);
    if (s.target) {
        const auto of = s.target->records > 0 ? fmt::format(", {} records", s.target->records) : std::string();
        change("AUC of " + escaped(s.target->column) + of, s.target->auc_before, s.target->auc_after,
               s.target->auc_before_in, s.target->auc_after_in);
        change("accuracy of " + escaped(s.target->column), s.target->accuracy_before, s.target->accuracy_after);
    }
    rows privacy = {{"guaranteed ε", any_guarantee ? readable(s.epsilon_guaranteed) : "none"},
                    {"budget ε", readable(s.epsilon_budget)},
                    {"δ", readable(s.delta)},
                    {"privacy unit", escaped(s.unit)},
                    {"semantics", escaped(name_of(s.semantics))}};
    if (s.printed_formula_epsilon)
        privacy.emplace_back("ε of the publication's printed formula", readable(*s.printed_formula_epsilon));
    if (s.tight_epsilon_as_released)
        privacy.emplace_back("tight ε of the gradients as released", readable(*s.tight_epsilon_as_released));
    const rows run = {{"status", name_of(s.how)},
                      {"steps planned", readable(s.steps_planned)},
                      {"steps made", readable(s.steps_done)},
                      {"training units", readable(s.units)},
                      {"sample rate", readable(s.sample_rate)},
                      {"noise correlated over", s.bands == 1 ? "no steps" : fmt::format("{} steps", s.bands)},
                      {"method", s.method.empty() ? "–" : escaped(s.method)},
                      {"spending policy", escaped(s.policy)},
                      {"noise allocation", escaped(s.allocation)},
                      {"split", escaped(s.split)}};
    return "<h2>Numbers</h2>\n<div class=\"pair\"><div>" + table("Utility", utility) + "<br>" +
           table("Privacy", privacy) + "</div><div>" + table("Run", run) + "<br>" + accountants(s, any_guarantee) +
           "</div></div>\n";
}

std::string claims_section(const guarantees& claims) {
    std::string out = "<h2>What is guaranteed, and what is not</h2>\n<div class=\"pair\">\n";
    if (!claims.holds.empty())
        out += "<section class=\"holds\"><h3>Guaranteed</h3>" + html_list_of_html(claims.holds) + "</section>\n";
    return out + "<section class=\"fails\"><h3>Not guaranteed</h3>" + html_list_of_html(claims.does_not) +
           "</section>\n</div>\n";
}

std::string controller_section(const run_summary& s, const std::vector<metrics_line>& metrics) {
    if (s.controller.empty()) return {};
    std::vector<std::string> sentences;
    for (const auto& sentence : s.controller) sentences.push_back(escaped(sentence));
    double sum = 0, least = 1, count = 0;
    for (const auto& line : metrics) {
        if (!line.steered) continue;
        sum += line.steered->trust;
        least = std::min(least, line.steered->trust);
        count += 1;
    }
    if (count > 0)
        sentences.push_back(
            fmt::format("of what its net adds to its rule {:.0f} % acted here on average, {:.0f} % at least: less, the "
                        "farther this "
                        "run lay from those of the preparation",
                        100 * sum / count, 100 * least));
    return "<h2>The prepared controller</h2>\n" + html_list_of_html(sentences);
}

/// What can be expected of a model of that size.
std::string expectation(std::int64_t parameters) {
    const double millions = static_cast<double>(parameters) / 1e6;
    if (millions >= 50) return fmt::format("The model has {:.3g} million parameters.", millions);
    return fmt::format(
        "The model has {:.2g} million parameters: it learns the shape of records and how often values occur, and "
        "hardly "
        "what hangs together. Don't expect sense of it.",
        millions);
}

std::string rows_of(const made_up_table& made) {
    const auto row = [](const std::vector<std::string>& cells, std::string_view tag) {
        std::string out;
        for (const auto& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
        return "<tr>" + out + "</tr>\n";
    };
    auto out = row(made.columns, "th");
    for (const auto& cells : made.rows) out += row(cells, "td");
    return "<div class=\"table\"><table>\n" + out +
           "</table></div>\n<p><code>rldp synthesize</code> makes as many as you like; they cost no ε.</p>\n";
}

std::string samples_section(const run_summary& s) {
    if (s.samples.empty() && s.table.rows.empty()) return {};
    std::string out =
        "<h2>What it writes</h2>\n<p>Made from the tuned model and public words alone: within the contract, and about "
        "no one. " +
        expectation(s.base_parameters) + "</p>\n";
    if (!s.table.rows.empty()) out += rows_of(s.table);
    for (const auto& text : s.samples) out += "<pre class=\"text\">" + escaped(text) + "</pre>\n";
    return out;
}

std::string over_the_run(const run_summary& s, const std::vector<metrics_line>& metrics) {
    return "<h2>Over the run</h2>\n" +
           figures(report_figures(s, metrics), "Their data is in <code>metrics.jsonl</code>, beside this page");
}

std::string adapters(const run_summary& s, const std::vector<metrics_line>& metrics) {
    const metrics_line *first = nullptr, *last = nullptr;
    for (const auto& line : metrics)
        if (line.radii.size() == s.groups.size()) {
            if (!first) first = &line;
            last = &line;
        }
    if (!first || s.groups.empty()) return {};
    std::string out = fmt::format(
        "<details><summary>Clip radius of each of the {} groups, first and "
        "last</summary><table><thead><tr><th>group</th>"
        "<th class=\"n\">first</th><th class=\"n\">last</th></tr></thead>\n",
        s.groups.size());
    for (std::size_t i = 0; i < s.groups.size(); ++i)
        out += fmt::format("<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                           escaped(s.groups[i]), readable(first->radii[i]), readable(last->radii[i]));
    return out + "</table></details>\n";
}

std::string reproduction(const std::string& config_json) {
    return "<h2>How to repeat this run</h2>\n<p>The configuration below, every key resolved, is also "
           "<code>config.json</code> "
           "beside this page. Paths are file names there: say where yours are with <code>--set data.path=…</code> and "
           "the "
           "like. Draws and noise are secret and new each time unless the configuration says otherwise, so "
           "numbers agree in distribution and not digit by digit. A repetition spends a budget of its own.</p>\n"
           "<pre>rldp run config.json --out new-run</pre>\n<details><summary>The configuration</summary><pre>" +
           escaped(config_json) + "</pre></details>\n";
}

}  // namespace

std::string with_interval(const std::optional<double>& value, const std::optional<interval>& in) {
    const auto shown = or_dash(value);
    return in && value ? fmt::format("{} ({} to {})", shown, readable(in->low), readable(in->high)) : shown;
}

std::string held_out_sentence(const run_summary& s) {
    switch (s.held_out) {
        case publication::noised:
            return fmt::format(
                "{} look{} at held-out units, each a sum with Gaussian noise; an interval holds with 95 %, for the "
                "noise "
                "alone",
                s.looks, s.looks == 1 ? "" : "s");
        case publication::none:
            return "nothing of held-out units was published";
        case publication::raw:
            return "exact figures of held-out units, which nothing protects";
    }
    bug("a publication without a sentence");
}

std::string what_was_learned(const run_summary& s) {
    const auto verdict = [](bool learned) {
        return learned ? "the model has learned how values hang together"
                       : "the model has not learned how values hang together";
    };
    // Where they are known, the values alone: a perplexity counts the template's words, too, which may still cost.
    if (s.value_nats_after && s.marginal_nats)
        return fmt::format("values cost {} nats a record, by how often each occurs {}: {}",
                           readable(*s.value_nats_after), readable(*s.marginal_nats),
                           verdict(*s.value_nats_after < *s.marginal_nats));
    if (!s.template_perplexity || !s.perplexity_after) return "";
    return fmt::format("the template alone has {}: {}", readable(*s.template_perplexity),
                       verdict(*s.perplexity_after < *s.template_perplexity));
}

std::string report_html(const run_summary& summary, const std::vector<metrics_line>& metrics,
                        const std::string& config_json) {
    const auto claims = describe_guarantees(summary);
    const auto next = "<p class=\"note\">Next: " + escaped(advise_next(summary, metrics, config_json)) + ".</p>\n";
    return page(make_title(summary), head(summary, claims) + next + numbers(summary, claims.any) +
                                         claims_section(claims) + samples_section(summary) +
                                         controller_section(summary, metrics) + over_the_run(summary, metrics) +
                                         adapters(summary, metrics) + reproduction(config_json));
}

}  // namespace rldp::eval
