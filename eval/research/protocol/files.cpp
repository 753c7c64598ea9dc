// A protocol's results as JSON, CSV, HTML and for a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>

#include "eval/report/page.hpp"
#include "eval/research/protocol/protocol.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::eval {

namespace {

using nlohmann::ordered_json;
using rows = std::vector<std::vector<std::string>>;

const char* describe_verdict(verdict said) {
    return said == verdict::win ? "win" : said == verdict::loss ? "loss" : "tie";
}

std::string chosen_words(const tuned_arm& one) {
    if (one.settings == 0) return "not tuned";
    if (one.chosen) return fmt::format("{}{}", fmt::join(one.setting, " "), one.at_edge ? " *" : "");
    if (one.ended < one.settings) return fmt::format("waits for {}", plural(one.settings - one.ended, "setting"));
    return "nothing: every setting failed";
}

std::string tried_words(const tuned_arm& one) {
    if (one.settings == 0) return "–";
    return one.failed == 0 ? fmt::format("{}", one.ended) : fmt::format("{}, {} failed", one.ended, one.failed);
}

const std::vector<std::string> arm_columns = {
    "ε", "arm", "end", "seeds", "failed", "diverged", "out of budget", "settings tried", "chosen"};
rows arm_rows(const protocol_report& report) {
    rows out;
    for (const auto& one : report.arms)
        out.push_back({fmt::format("{}", one.tuned.epsilon), one.tuned.arm, in_words(one.end),
                       std::to_string(one.end.n), std::to_string(one.failed), std::to_string(one.diverged),
                       std::to_string(one.exhausted), tried_words(one.tuned), chosen_words(one.tuned)});
    return out;
}

const std::vector<std::string> duel_columns = {"ε",    "against", "mean gain", "95 % interval", "p (Holm)",
                                               "says", "seeds",   "won, lost", "worst"};
rows duel_rows(const protocol_report& report) {
    rows out;
    for (const auto& one : report.duels) {
        const auto& seen = one.seen;
        out.push_back({fmt::format("{}", one.epsilon), one.arm, fmt::format("{:+.4g}", seen.mean_gain),
                       seen.interval ? fmt::format("{:+.4g} … {:+.4g}", seen.interval->low, seen.interval->high) : "–",
                       one.adjusted_p ? short_number(*one.adjusted_p) : "–",
                       one.said ? describe_verdict(*one.said) : "unfinished", std::to_string(seen.pairs),
                       fmt::format("{}, {}", seen.wins, seen.losses), fmt::format("{:+.4g}", seen.worst_gain)});
    }
    return out;
}

rows about_rows(const protocol_report& report) {
    rows out;
    for (const auto& one : report.plan.how.arms)
        out.push_back({one.name, one.sentence, fmt::format("{}", fmt::join(one.set, " "))});
    return out;
}

std::string test_words(const protocol& how) {
    constexpr std::size_t enumerated = 20;  // seeds: as paired_permutation()
    auto out = fmt::format(
        "A gain is in {} and above 0 where {} is better. p is of the {} paired permutation test over seeds, two-sided, "
        "adjusted over the other arms of one ε (Holm), not over several ε; up to 0.05 it is a win or a loss, else a "
        "tie, which is no proof of equality. It is given once all arms and seeds of that ε are done.",
        how.compared.name, how.ours, how.seeds.size() <= enumerated ? "exact" : "sampled");
    if (how.least_p() > significance)
        out += fmt::format(" With {} and {} no p can be below {}: nothing can be won here.",
                           plural(how.seeds.size(), "seed"), plural(how.arms.size() - 1, "other arm"),
                           short_number(how.least_p()));
    return out;
}

std::string pace_words(const pace& one) {
    const auto whose = one.arm == one.reached ? fmt::format("{}, to compare with, reaches its own mean end", one.arm)
                                              : fmt::format("{} reaches {}'s mean end ({})", one.arm, one.reached,
                                                            short_number(one.target));
    return fmt::format(
        "ε = {}: {} after {:.0f} % of its steps on average, {:.0f} % of {}'s examples and {:.0f} % of ε; {} of {} "
        "seeds "
        "never did, and count with all of their run: a lower bound of what they would need. It is looked for every {} "
        "steps, in a curve that wavers, which touches a mean early.",
        one.epsilon, whose, 100 * one.steps.mean_share, 100 * one.examples, one.reached, 100 * one.epsilon_share,
        one.steps.censored, one.steps.runs, one.resolution);
}

std::vector<std::string> sentences(const protocol_report& report) {
    const auto& how = report.plan.how;
    std::vector<std::string> out{test_words(how)};
    for (const auto& one : report.paces) out.push_back(pace_words(one));
    out.emplace_back(
        "Intervals are of the mean gain alone, not adjusted for the number of arms (bootstrap, BCa; with ten seeds "
        "they "
        "cover some 90 %): only p decides.");
    out.emplace_back(
        "On real data all cells share one split and one set of evaluation records, and those of one seed the initial "
        "adapters: p speaks of noise, draws and initial adapters, not of other splits. Held-out numbers are raw "
        "information "
        "about evaluation units, outside of every contract; to choose a method by them is a choice made with them.");
    if (how.tuning.trials > 0)
        out.push_back(
            fmt::format("Settings are tried on other data ({}) and other seeds; what is best there need not be best "
                        "here. A setting "
                        "marked * is the least or largest of a list of numbers: beyond it may lie a better one.",
                        how.tuning.set.empty() ? "the base's" : fmt::format("{}", fmt::join(how.tuning.set, " "))));
    if (std::any_of(report.arms.begin(), report.arms.end(), [](const auto& one) { return one.diverged > 0; }))
        out.emplace_back("A run that diverged counts as the model that it began with.");
    if (report.versions.size() > 1)
        out.push_back(fmt::format("Cells were run by several versions of rldp: {}.", fmt::join(report.versions, ", ")));
    if (any_insecure(report.cells))
        out.emplace_back("noise.insecure_reproducible is on: NONE of these runs has any guarantee.");
    const auto cost = expense_sentences(report.cost);
    out.insert(out.end(), cost.begin(), cost.end());
    return out;
}

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json to_json(const arm_result& one) {
    const auto& tuned = one.tuned;
    return {{"epsilon", tuned.epsilon},
            {"arm", tuned.arm},
            {"end", to_json(one.end)},
            {"failed", one.failed},
            {"diverged", one.diverged},
            {"exhausted", one.exhausted},
            {"settings", tuned.settings},
            {"settings_ended", tuned.ended},
            {"settings_failed", tuned.failed},
            {"chosen", tuned.chosen ? ordered_json(tuned.setting) : ordered_json(nullptr)},
            {"chosen_value", or_null(tuned.value)},
            {"chosen_at_edge", tuned.at_edge}};
}

ordered_json to_json(const duel& one) {
    const auto& seen = one.seen;
    return {
        {"epsilon", one.epsilon},
        {"against", one.arm},
        {"pairs", seen.pairs},
        {"mean_gain", seen.mean_gain},
        {"interval", seen.interval ? ordered_json({seen.interval->low, seen.interval->high}) : ordered_json(nullptr)},
        {"p", seen.p},
        {"adjusted_p", or_null(one.adjusted_p)},
        {"verdict", one.said ? ordered_json(describe_verdict(*one.said)) : ordered_json(nullptr)},
        {"wins", seen.wins},
        {"losses", seen.losses},
        {"ties", seen.ties},
        {"worst_gain", seen.worst_gain}};
}

ordered_json to_json(const pace& one) {
    return {{"epsilon", one.epsilon},
            {"arm", one.arm},
            {"reached", one.reached},
            {"target", one.target},
            {"mean_share_of_steps", one.steps.mean_share},
            {"mean_share_of_examples", one.examples},
            {"mean_share_of_epsilon", one.epsilon_share},
            {"seeds", one.steps.runs},
            {"censored", one.steps.censored},
            {"resolution", one.resolution}};
}

template <class Part>
ordered_json to_json_list(const std::vector<Part>& parts) {
    auto out = ordered_json::array();
    for (const auto& one : parts) out.push_back(to_json(one));
    return out;
}

std::size_t count_done(const protocol_report& report, bool trials) {
    auto cells = report.cells;
    std::erase_if(cells, [&](const measured& one) { return one.where.trial != trials; });
    return count_done(cells);
}

std::string progress_words(const protocol_report& report) {
    return fmt::format("{} of {} tests done, {} of {} trials", count_done(report, false), report.plan.tests(),
                       count_done(report, true), report.plan.trials.size());
}

}  // namespace

std::string protocol_json(const protocol_report& report) {
    const auto& how = report.plan.how;
    ordered_json out = {{"kind", "protocol"},
                        {"about", how.sentence},
                        {"command", report.command},
                        {"measure", how.compared.name},
                        {"ours", how.ours},
                        {"configuration", report.plan.what.base},
                        {"arms", to_json_list(report.arms)},
                        {"comparisons", to_json_list(report.duels)},
                        {"speed", to_json_list(report.paces)},
                        {"versions", report.versions},
                        {"cost", to_json(report.cost)}};
    out["cells"] = to_json(report.cells, [](const cell& where) { return ordered_json{{"values", where.at}}; });
    return to_text(out);
}

std::string protocol_csv(const protocol_report& report) {
    const auto& compared = report.plan.how.compared;
    const auto value = [&](const measured& one) {
        const auto found = one.result.summary ? compared.of(*one.result.summary) : std::nullopt;
        return found ? fmt::format("{}", *found) : "";
    };
    return to_csv(report.cells, {{"stage", [](const measured& one) { return one.where.at.at("stage"); }},
                                 {"arm", [](const measured& one) { return one.where.arm; }},
                                 {"epsilon", [](const measured& one) { return fmt::format("{}", one.where.epsilon); }},
                                 {"seed", [](const measured& one) { return std::to_string(*one.where.seed); }},
                                 {compared.name, value}});
}

std::string protocol_html(const protocol_report& report) {
    const auto& how = report.plan.how;
    const auto html = [](rows table) {
        for (auto& row : table)
            for (auto& cell : row) cell = escaped(cell);
        return table;
    };
    auto body = how.sentence.empty() ? "" : "<p>" + escaped(how.sentence) + "</p>\n";
    body += fmt::format("<h2>{} against the others</h2>\n", escaped(how.ours)) +
            html_table("Paired over seeds", duel_columns, html(duel_rows(report)), 2) + "<h2>Every arm</h2>\n" +
            html_table("At the end of the test, over seeds; what was chosen for it", arm_columns,
                       html(arm_rows(report)), 2);
    return to_html(
        {.title = "A comparison by protocol",
         .subtitle = fmt::format("{} · {} · {}", plural(how.arms.size(), "arm"), plural(how.seeds.size(), "seed"),
                                 progress_words(report)),
         .body = body,
         .sentences = sentences(report),
         .appendix = "<h2>The arms, as written down beforehand</h2>\n" +
                     html_table("On the base configuration", {"arm", "about", "sets"}, html(about_rows(report)), 3),
         .command = report.command},
        report.cells);
}

std::string protocol_text(const protocol_report& report) {
    auto arms = arm_rows(report), duels = duel_rows(report);
    arms.insert(arms.begin(), arm_columns);
    duels.insert(duels.begin(), duel_columns);
    auto out = progress_words(report) + "\n\n" + text_table(arms) + "\n" + text_table(duels) + "\n";
    for (const auto& sentence : sentences(report)) out += sentence + "\n";
    return out;
}

}  // namespace rldp::eval
