// A suite's results as JSON, CSV, HTML and for a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>

#include "eval/report/page.hpp"
#include "eval/research/suite/suite.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;
using rows = std::vector<std::vector<std::string>>;

std::string interval_words(const std::optional<confidence_interval>& in) {
    return in ? fmt::format("{:.3g} to {:.3g}", in->low, in->high) : "–";
}

const std::vector<std::string> standing_columns = {"arm", "mean regret", "95 % interval", "worst",
                                                   "on",  "best on",     "beds"};
rows standing_rows(const part_result& part) {
    rows out;
    for (const auto& one : part.standings)
        out.push_back({one.arm, short_number(one.mean), interval_words(one.interval), short_number(one.worst),
                       one.worst_bed, std::to_string(one.first), std::to_string(one.beds)});
    return out;
}

const char* describe_verdict(const suite_duel& one) {
    if (!one.said) return "unfinished";
    return *one.said == verdict::win ? "win" : *one.said == verdict::loss ? "loss" : "tie";
}

const std::vector<std::string> duel_columns = {"against",  "mean gain", "95 % interval", "p (Wilcoxon)",
                                               "p (Holm)", "says",      "won, lost",     "worst"};
rows duel_rows(const part_result& part) {
    rows out;
    for (const auto& one : part.duels)
        out.push_back({one.arm, fmt::format("{:+.3g}", one.seen.mean_gain), interval_words(one.seen.interval),
                       short_number(one.seen.p), one.adjusted_p ? short_number(*one.adjusted_p) : "–",
                       describe_verdict(one), fmt::format("{}, {}", one.seen.wins, one.seen.losses),
                       fmt::format("{:+.3g}", one.seen.worst_gain)});
    return out;
}

/// A bed's row: what arms began with, then each one's end.
rows bed_rows(const part_result& part) {
    rows out;
    for (const auto& one : part.beds) {
        auto& row = out.emplace_back(
            std::vector<std::string>{one.plan.which.name, one.plan.which.compared.name, short_number(one.before)});
        for (const auto& score : one.scores)
            row.push_back(in_words(score.end) +
                          (score.diverged > 0 ? fmt::format(", {} diverged", score.diverged) : "") +
                          (score.failed > 0 ? fmt::format(", {} failed", score.failed) : ""));
    }
    return out;
}
std::vector<std::string> bed_columns(const part_result& part) {
    std::vector<std::string> out = {"bed", "measure", "before"};
    for (const auto& one : part.beds.front().scores) out.push_back(one.arm);
    return out;
}

std::string progress_words(const part_result& part) {
    std::size_t done = 0, all = 0;
    for (const auto& one : part.beds) {
        all += one.plan.tests();
        for (const auto& score : one.scores) done += score.ends.size();
    }
    return fmt::format("{}: {} of {} beds, {} of {} tests done", part.name, part.complete, part.beds.size(), done, all);
}

std::vector<measured> list_cells(const suite_report& report) {
    std::vector<measured> out;
    for (const auto& part : report.parts)
        for (const auto& bed : part.beds)
            for (auto one : bed.cells) {
                one.where.id = bed.plan.which.name + "/" + one.where.id;
                one.where.at["part"] = part.name;
                one.where.at["bed"] = bed.plan.which.name;
                out.push_back(std::move(one));
            }
    return out;
}

std::vector<std::string> list_sentences(const suite_report& report) {
    std::vector<std::string> out = {
        "Regret is how far an arm's mean end over seeds is from the best arm's on that bed, where what the best arm "
        "gained over its steps is 1: before them is the mean over all tests.",
        fmt::format("A gain is a difference of regrets, above 0 where {} is better. p is of Wilcoxon's signed ranks "
                    "over beds, two-sided, adjusted over the other arms of a part (Holm). Up to 0.05 it is a win or a "
                    "loss, else a tie, which is no proof of equality. It is given once all beds of the part are done.",
                    report.how.ours),
        fmt::format("The gain against {} is what {} has that it lacks.", report.how.control, report.how.ours),
        "Intervals are a bootstrap over beds (BCa), not adjusted for the number of arms; of few beds they are too "
        "short.",
        "All cells of a bed share one split, and those of one seed the initial adapters. Held-out numbers are raw "
        "information about evaluation units, outside of every contract."};
    std::map<std::string, std::vector<std::string>> worth;  // by arm that pays for trials
    for (const auto& part : report.parts)
        for (const auto& bed : part.beds) {
            if (bed.complete && !bed.has_regrets())
                out.push_back(fmt::format("On {} nobody gained anything: it has no regrets.", bed.plan.which.name));
            for (const auto& [arm, epsilon] : bed.plan.epsilon_of_one)
                worth[arm].push_back(fmt::format("{:.3g} on {}", epsilon, bed.plan.which.name));
        }
    for (const auto& [arm, all] : worth)
        out.push_back(fmt::format(
            "{} pays for its trials: by itself each of its runs is worth ε = {}. Trials are chosen by exact held-out "
            "figures, which no user is told so well.",
            arm, fmt::join(all, ", ")));
    if (any_insecure(list_cells(report)))
        out.emplace_back("noise.insecure_reproducible is on: NONE of these runs has any guarantee.");
    if (report.versions.size() > 1)
        out.push_back(fmt::format("Cells were run by several versions of rldp: {}.", fmt::join(report.versions, ", ")));
    return out;
}

json describe(const std::optional<confidence_interval>& in) {
    return in ? json{in->low, in->high} : json(nullptr);
}

json describe(const suite_standing& one) {
    return {{"arm", one.arm},
            {"beds", one.beds},
            {"mean_regret", one.mean},
            {"interval", describe(one.interval)},
            {"worst_regret", one.worst},
            {"worst_bed", one.worst_bed},
            {"best_on", one.first}};
}

json describe(const suite_duel& one) {
    return {{"against", one.arm},
            {"beds", one.seen.pairs},
            {"mean_gain", one.seen.mean_gain},
            {"interval", describe(one.seen.interval)},
            {"p", one.seen.p},
            {"adjusted_p", to_json(one.adjusted_p)},
            {"verdict", one.said ? json(describe_verdict(one)) : json(nullptr)},
            {"wins", one.seen.wins},
            {"losses", one.seen.losses},
            {"worst_gain", one.seen.worst_gain}};
}

json describe(const bed_result& one) {
    json out = {{"bed", one.plan.which.name},
                {"measure", one.plan.which.compared.name},
                {"before", json_number(one.before)},
                {"configuration", one.plan.what.base},
                {"epsilon_of_one_run", one.plan.epsilon_of_one},
                {"cost", to_json(sum_expense(one.cells))}};
    for (const auto& score : one.scores) {
        json ends = json::object();
        for (const auto& [seed, value] : score.ends) ends[std::to_string(seed)] = value;
        out["arms"][score.arm] = {
            {"ends", ends},           {"end", to_json(score.end)},       {"diverged", score.diverged},
            {"failed", score.failed}, {"regret", to_json(score.regret)}, {"curve", score.learned}};
    }
    return out;
}

/// Of the arms, in their order: the same in every figure of a part.
std::string find_colour(const part_result& part, const std::string& arm) {
    const auto& all = part.beds.front().scores;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.arm == arm; });
    return nth_colour(static_cast<std::size_t>(found - all.begin()));
}

captioned draw_regrets(const part_result& part, const std::string& id) {
    captioned out;
    out.drawing = {id, "Regret by bed: " + part.name, "", "regret", {}, {}, {}, false};
    std::vector<const bed_result*> known;
    for (const auto& one : part.beds)
        if (one.has_regrets()) known.push_back(&one);
    for (const auto* one : known) out.drawing.names.push_back(one->plan.which.name);
    double most = 1;
    for (const auto& which : part.standings)
        for (std::size_t i = 0; i < known.size(); ++i)
            for (const auto& score : known[i]->scores) {
                if (score.arm != which.arm) continue;
                most = std::max(most, *score.regret);
                // A series of its own: there is nothing between two beds.
                out.drawing.lines.push_back({i == 0 ? which.arm : "",
                                             mark::marked_line,
                                             find_colour(part, which.arm),
                                             {{static_cast<double>(i), *score.regret}}});
            }
    out.drawing.y_range = {-0.05 * most, 1.05 * most};
    out.drawing.x_range = {-0.5, static_cast<double>(known.size()) - 0.5};
    out.caption = "The best arm of a bed has 0, what it began with 1.";
    return out;
}

captioned draw_curves(const part_result& part, const bed_result& bed, const std::string& id) {
    captioned out;
    out.drawing = {id, bed.plan.which.name, "step", bed.plan.which.drawn().name, {}, {}, {}, false};
    double last = 1;
    for (const auto& one : bed.scores) {
        if (!one.learned.empty()) last = std::max(last, one.learned.back().first);
        out.drawing.lines.push_back(
            {one.arm, mark::marked_line, find_colour(part, one.arm), thinned(one.learned, 200)});
    }
    drop_empty(out.drawing.lines);
    out.drawing.x_range = {0, last};
    out.drawing.log_y = spans_decades(out.drawing.lines);
    return out;
}

rows escape_all(rows table) {
    for (auto& row : table)
        for (auto& cell : row) cell = escaped(cell);
    return table;
}

std::string part_html(const part_result& part, std::size_t number) {
    const auto id = "part" + nth_letter(number);
    auto body = fmt::format("<h2>{}</h2>\n", escaped(part.name)) +
                (part.sentence.empty() ? "" : "<p>" + escaped(part.sentence) + "</p>\n");
    if (!part.standings.empty())
        body += html_table("Regret over beds", standing_columns, escape_all(standing_rows(part))) +
                html_table("Against the others, over beds", duel_columns, escape_all(duel_rows(part)));
    body += html_table("At the end, over seeds", bed_columns(part), escape_all(bed_rows(part)), 2);
    std::vector<captioned> all = {draw_regrets(part, id)};
    for (std::size_t i = 0; i < part.beds.size(); ++i)
        all.push_back(draw_curves(part, part.beds[i], id + nth_letter(i)));
    std::erase_if(all, [](const captioned& one) { return one.empty(); });
    return body + (all.empty() ? "" : figures(all, "suite.json"));
}

}  // namespace

std::string suite_json(const suite_report& report) {
    json out = {{"kind", "suite"},
                {"about", report.how.sentence},
                {"command", report.command},
                {"ours", report.how.ours},
                {"control", report.how.control},
                {"parts", json::array()},
                {"versions", report.versions}};
    for (const auto& part : report.parts) {
        json one = {{"part", part.name},
                    {"about", part.sentence},
                    {"standings", json::array()},
                    {"comparisons", json::array()},
                    {"beds", json::array()}};
        for (const auto& each : part.standings) one["standings"].push_back(describe(each));
        for (const auto& each : part.duels) one["comparisons"].push_back(describe(each));
        for (const auto& each : part.beds) one["beds"].push_back(describe(each));
        out["parts"].push_back(one);
    }
    return to_text(out);
}

std::string suite_csv(const suite_report& report) {
    std::map<std::string, measure> measures;
    for (const auto& part : report.parts)
        for (const auto& bed : part.beds) measures[bed.plan.which.name] = bed.plan.which.compared;
    const auto at = [](const std::string& axis) {
        return cell_column{axis, [axis](const measured& one) { return one.where.at.at(axis); }};
    };
    const auto end = [&](const measured& one) {
        const auto& compared = measures.at(one.where.at.at("bed"));
        const auto found = one.result.summary ? compared.of(*one.result.summary) : std::nullopt;
        return found ? fmt::format("{}", *found) : "";
    };
    const auto name = [&](const measured& one) { return measures.at(one.where.at.at("bed")).name; };
    return to_csv(list_cells(report),
                  {at("part"), at("bed"), at("arm"), at("seed"), at("stage"), {"measure", name}, {"end", end}});
}

std::string suite_html(const suite_report& report) {
    auto body = report.how.sentence.empty() ? "" : "<p>" + escaped(report.how.sentence) + "</p>\n";
    std::vector<std::string> progress;
    for (std::size_t i = 0; i < report.parts.size(); ++i) {
        progress.push_back(progress_words(report.parts[i]));
        body += part_html(report.parts[i], i);
    }
    rows arms;
    std::set<std::string> told;
    for (const auto& part : report.parts)
        for (const auto& one : part.beds.front().plan.part.arms)
            if (told.insert(one.name).second)
                arms.push_back(
                    {escaped(one.name), escaped(one.sentence), escaped(fmt::format("{}", fmt::join(one.set, " ")))});
    return to_html({.title = "A suite of beds",
                    .subtitle = fmt::format("{}", fmt::join(progress, " · ")),
                    .body = body,
                    .sentences = list_sentences(report),
                    .appendix = "<h2>The arms, as written down beforehand</h2>\n" +
                                html_table("On each bed's configuration", {"arm", "about", "sets"}, arms, 3),
                    .command = report.command},
                   list_cells(report));
}

std::string suite_text(const suite_report& report) {
    std::string out;
    for (const auto& part : report.parts) {
        out += progress_words(part) + "\n\n";
        const auto add = [&](rows table, const std::vector<std::string>& columns) {
            if (table.empty()) return;
            table.insert(table.begin(), columns);
            out += text_table(std::move(table)) + "\n";
        };
        add(standing_rows(part), standing_columns);
        add(duel_rows(part), duel_columns);
        add(bed_rows(part), bed_columns(part));
    }
    for (const auto& sentence : list_sentences(report)) out += sentence + "\n";
    return out;
}

}  // namespace rldp::eval
