#include "eval/audit/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/report/curves.hpp"

namespace rldp::eval {

namespace {

constexpr auto blue = "#2f7ed8", orange = "#d9822b", red = "#d43f3a", grey = "#8a93a0";
constexpr std::size_t most_points = 500;

curve list_points(const separation& of) {
    curve out;
    for (const auto& [false_positives, true_positives] : of.curve) out.emplace_back(false_positives, true_positives);
    return thinned(out, most_points);
}

captioned roc_figure(const audit_report& report) {
    captioned out;
    out.drawing = {"roc", "Who was in training", "false positives", "true positives", {}, {0, 1}, {{0, 1}}, false};
    auto& lines = out.drawing.lines;
    if (report.membership)
        lines.push_back({report.membership->scored, mark::line, blue, list_points(report.membership->attack)});
    if (report.shadows) {
        lines.push_back({"LiRA offline", mark::line, orange, list_points(report.shadows->offline)});
        lines.push_back({"LiRA online", mark::line, red, list_points(report.shadows->online)});
    }
    drop_empty(lines);
    if (!lines.empty()) lines.push_back({"guessing", mark::dashed, grey, {{0, 0}, {1, 1}}});
    out.caption = "Each point is a threshold on the attack's score. On the diagonal an attack guesses.";
    return out;
}

/// Outline of a histogram as shares of all values; bins over `range`.
curve histogram(const std::vector<double>& values, std::pair<double, double> range) {
    constexpr std::size_t bins = 40;
    std::vector<double> shares(bins, 0);
    const double width = (range.second - range.first) / bins;
    for (const double value : values) {
        const auto bin = static_cast<std::size_t>(std::clamp((value - range.first) / width, 0.0, bins - 1.0));
        shares[bin] += 1 / static_cast<double>(values.size());
    }
    curve out;
    for (std::size_t i = 0; i < bins; ++i) out.emplace_back(range.first + width * static_cast<double>(i), shares[i]);
    out.emplace_back(range.second, 0);
    return out;
}

/// From the lowest of all values to the highest.
std::pair<double, double> find_range(const std::vector<std::vector<double>>& lists) {
    std::vector<double> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    if (all.empty()) return {0, 1};
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    return {*low, *high > *low ? *high : *low + 1};
}

captioned scores_figure(const membership_result& found) {
    captioned out;
    const auto range = find_range({found.members.scores, found.non_members.scores});
    out.drawing = {"scores",
                   "Scores of members and others",
                   "mean log-probability of " + found.scored + ", nats",
                   "share of records",
                   {},
                   range,
                   {},
                   false};
    if (!found.members.scores.empty())
        out.drawing.lines.push_back({"in training", mark::steps, blue, histogram(found.members.scores, range)});
    if (!found.non_members.scores.empty())
        out.drawing.lines.push_back({"not", mark::steps, orange, histogram(found.non_members.scores, range)});
    out.caption = "The less the two overlap, the more the model gives away.";
    return out;
}

captioned exposure_figure(const exposure_result& found) {
    captioned out;
    std::vector<double> secrets;
    for (const auto& one : found.canaries) secrets.push_back(one.log_perplexity);
    const auto range = find_range({found.reference_log_perplexities, secrets});
    out.drawing = {
        "exposure", "Planted secrets among others", "log-perplexity, bits", "share of secrets", {}, range, {}, false};
    out.drawing.lines = {
        {"others, after the first record", mark::steps, grey, histogram(found.reference_log_perplexities, range)},
        {"planted", mark::steps, red, histogram(secrets, range)}};
    drop_empty(out.drawing.lines);
    out.caption = "A planted secret that the model knows stands left of the others.";
    return out;
}

captioned likeness_figure(const std::vector<extraction_result>& found) {
    captioned out;
    out.drawing = {"jaccard", "Drawn texts and planted secrets",
                   "n",       "Jaccard similarity of runs of n characters",
                   {},        {1, longest_gram},
                   {},        false};
    for (const auto& one : found) {
        if (!one.likeness) continue;
        curve means;
        for (std::size_t n = 0; n < longest_gram; ++n)
            means.emplace_back(static_cast<double>(n + 1), (*one.likeness)[n].mean);
        out.drawing.lines.push_back(
            {"prompt: " + one.prompt, mark::marked_line, one.prompt == "record" ? red : orange, std::move(means)});
    }
    out.caption = "Means over all pairs. Beyond n = 2, anything clearly above 0 comes from secrets that were learned.";
    return out;
}

captioned course_figure(const std::vector<audit_point>& course) {
    captioned out;
    out.drawing = {"course", "While training went on", "step", "", {}, {0, 1}, {}, false};
    curve auc, exposure, epsilon;
    for (const auto& one : course) {
        const auto step = static_cast<double>(one.step);
        if (one.auc) auc.emplace_back(step, *one.auc);
        if (one.mean_exposure) exposure.emplace_back(step, *one.mean_exposure);
        if (one.epsilon) epsilon.emplace_back(step, *one.epsilon);
        out.drawing.x_range.second = std::max(out.drawing.x_range.second, step);
    }
    out.drawing.lines = {{"membership AUC", mark::marked_line, blue, auc},
                         {"mean exposure, bits", mark::marked_line, red, exposure},
                         {"ε at least", mark::marked_line, orange, epsilon}};
    drop_empty(out.drawing.lines);
    out.caption = "Each point is an audit of one snapshot.";
    return out;
}

}  // namespace

std::vector<captioned> audit_figures(const audit_report& report) {
    std::vector<captioned> out = {roc_figure(report)};
    if (report.membership) out.push_back(scores_figure(*report.membership));
    if (report.exposure) out.push_back(exposure_figure(*report.exposure));
    out.push_back(likeness_figure(report.extractions));
    if (report.course.size() > 1) out.push_back(course_figure(report.course));
    std::erase_if(out, [](const captioned& one) { return one.empty(); });
    return out;
}

}  // namespace rldp::eval
