#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/audit/report/page.hpp"
#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"

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

namespace {

std::string number(const std::optional<double>& value, int digits = 3) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

std::string percent(const std::optional<proportion>& of) {
    if (!of) return "–";
    return fmt::format("{:.2f} % ({:.2f}–{:.2f})", 100 * of->rate(), 100 * of->low, 100 * of->high);
}

std::vector<std::string> separation_row(const std::string& name, const separation& of) {
    return {name, number(of.auc), percent(of.at_tenth_percent), percent(of.at_percent)};
}

}  // namespace

text_rows bound_rows(const audit_report& report) {
    text_rows out = {{"canaries", "m", "guesses", "correct", "ε at least", "if Gaussian", "confidence"}};
    for (const auto& one : report.bounds)
        out.push_back({one.canaries, fmt::format("{}", one.seen.canaries), fmt::format("{}", one.seen.guesses),
                       fmt::format("{}", one.seen.correct), number(one.epsilon), number(one.gaussian_epsilon),
                       fmt::format("{:g} %", 100 * one.confidence)});
    return out;
}

text_rows membership_rows(const audit_report& report) {
    text_rows out = {{"attack", "AUC", "found at 0.1 % false alarms", "found at 1 % false alarms"}};
    if (report.membership)
        out.push_back(separation_row("likelihood of " + report.membership->scored, report.membership->attack));
    if (report.shadows) {
        out.push_back(
            separation_row(fmt::format("LiRA offline, {} shadows", report.shadows->shadows), report.shadows->offline));
        out.push_back(
            separation_row(fmt::format("LiRA online, {} shadows", report.shadows->shadows), report.shadows->online));
    }
    return out;
}

text_rows exposure_rows(const audit_report& report) {
    text_rows out = {{"record", "where", "log-perplexity, bits", "exposure, bits", "extrapolated, bits", "fit, p"}};
    if (!report.exposure) return out;
    for (const auto& one : report.exposure->canaries)
        out.push_back({one.unit, one.where, number(one.log_perplexity, 1), number(one.rank, 2),
                       number(one.extrapolated, 2), number(one.fit_p_value, 3)});
    return out;
}

text_rows extraction_rows(const audit_report& report) {
    text_rows out = {{"prompt", "Jaccard 1", "Jaccard 2", "Jaccard 3", "Jaccard 4", "V", "found"}};
    for (const auto& one : report.extractions) {
        out.push_back({one.prompt});
        for (std::size_t n = 0; n < longest_gram; ++n)
            out.back().push_back(
                one.likeness ? fmt::format("{:.4f} ± {:.4f}", (*one.likeness)[n].mean, (*one.likeness)[n].deviation)
                             : "–");
        out.back().push_back(fmt::format("{} of {}", one.valid, one.trials));
        out.back().push_back(fmt::format("{} of {}", one.found, one.canaries));
    }
    return out;
}

std::string about_bounds(const audit_report& report) {
    if (report.bounds.empty()) return {};
    return fmt::format(
        "Every canary was in training with probability one half, by a coin that the trainer never saw; the audit "
        "guesses some of the coins. A run that keeps (ε, {:g}) lets nobody guess so many right, but with probability "
        "{:.2g}, unless ε is at least the number here. A number below the claim proves nothing: this attack may be "
        "weak. A number above it proves that the claim is false. \"If Gaussian\" holds for a run whose whole trade-off "
        "curve is a Gaussian's, as that of many steps with Gaussian noise nearly is: the same guesses then tell more.",
        report.delta, 1 - report.confidence);
}

std::string about_membership(const audit_report& report) {
    if (!report.membership) return {};
    const auto& [members, non_members, attack, scored] = *report.membership;
    return fmt::format(
        "Whoever scores a record by how likely the model finds {} tells a record that was trained on from one "
        "that was not with this AUC: 0.5 is guessing, 1 is certainty. They have a mean log-probability of {:.4f} "
        "and a mean perplexity of {:.4f} among {} members, {:.4f} and {:.4f} among {} others; {} records "
        "had none. An AUC near 0.5 says that this attack fails on average, not that every record is safe: for that, "
        "look "
        "at few false alarms.",
        scored, members.mean_log_p, members.mean_perplexity, members.scores.size(), non_members.mean_log_p,
        non_members.mean_perplexity, non_members.scores.size(), members.discarded + non_members.discarded);
}

std::string about_exposure(const audit_report& report) {
    if (!report.exposure) return {};
    const auto& of = *report.exposure;
    const auto most = std::log2(static_cast<double>(of.references) + 1);
    if (of.all)
        return fmt::format(
            "The bits by which the model narrows a planted secret down among all {} that exist: {:.1f} mean that it "
            "is the model's first guess, 1.4 is what chance gives on average.",
            of.references + 1, most);
    return fmt::format(
        "The bits by which the model narrows a planted secret down, measured against {} made-up ones in the same "
        "place, at most {:.1f}; beyond, a skew-normal law fitted to those is followed, which is worth as much as its "
        "fit (a small p says it does not fit). A secret that was not learned has about 1.4 bits on average.",
        of.references, most);
}

std::string about_extraction(const audit_report& report) {
    if (report.extractions.empty()) return {};
    return "The published attack: so many texts are drawn after a prompt that ends in \"secret_id=\", V of them begin "
           "with 1 to 10 of A–Z and 0–9. Jaccard n compares their runs of n characters with the planted secrets', mean "
           "and deviation over all pairs; two random strings of ten characters have about 0.145 at n = 1 and 0.004 at "
           "n = 2. Only \"found\" is a leak: a planted secret came out whole.";
}

// audit.txt: what the command prints.

namespace {

std::string section(const std::string& title, const text_rows& rows) {
    return rows.size() < 2 ? std::string() : fmt::format("\n{}\n{}", title, text_table(rows));
}

}  // namespace

std::string audit_text(const audit_report& report) {
    auto out = fmt::format("{}\n{}\n{} after {} of {} steps, method {}\n", conclusion(report), verdict(report),
                           report.run, report.step, report.steps, report.method);
    out += section("Lower bound on ε", bound_rows(report)) + section("Membership", membership_rows(report)) +
           section("Exposure of planted secrets", exposure_rows(report)) +
           section("Extraction", extraction_rows(report));
    if (!report.left_out.empty()) out += "\nLeft out\n";
    for (const auto& line : report.left_out) out += "  " + line + "\n";
    return out + fmt::format("\n{:.0f} s\n", report.seconds);
}

// audit.html, in the look of the run's report.

namespace {

std::string section(const std::string& title, text_rows rows, const std::string& about) {
    if (rows.size() < 2) return {};
    for (auto& row : rows)
        for (auto& cell : row) cell = escaped(cell);
    const auto head = rows.front();
    rows.erase(rows.begin());
    return fmt::format("<h2>{}</h2>\n{}<p>{}</p>\n", escaped(title), html_table("", head, rows), escaped(about));
}

std::string card(const std::string& value, const std::string& what) {
    return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(what));
}

std::string cards(const audit_report& report) {
    auto out = std::string("<div class=\"cards\">\n");
    out += card(std::isfinite(report.claimed_epsilon) ? fmt::format("≤ {:.2f}", report.claimed_epsilon) : "none",
                "claimed ε");
    if (const auto found = audited_epsilon(report))
        out += card(fmt::format("≥ {:.2f}", *found), fmt::format("audited ε, {:g} %", 100 * report.confidence));
    const auto point = make_point(report);
    if (point.auc) out += card(fmt::format("{:.3f}", *point.auc), "membership AUC; 0.5 is guessing");
    if (point.mean_exposure) out += card(fmt::format("{:.2f} bits", *point.mean_exposure), "mean exposure");
    for (const auto& one : report.extractions)
        out += card(fmt::format("{} of {}", one.found, one.canaries), "secrets extracted, prompt: " + one.prompt);
    return out + "</div>\n";
}

std::string in_plain_words(const audit_report& report) {
    const auto found = audited_epsilon(report);
    const bool refuted = found && *found > report.claimed_epsilon;
    return fmt::format("<p class=\"note{}\">{} <i>{}.</i></p>\n", refuted ? " bad" : "", escaped(conclusion(report)),
                       escaped(verdict(report)));
}

}  // namespace

std::string audit_html(const audit_report& report) {
    auto body =
        fmt::format("<header><h1>Audit</h1>\n<p class=\"sub\">{} · method {} · after {} of {} steps</p></header>\n",
                    escaped(report.run), escaped(report.method), report.step, report.steps);
    body +=
        "<p class=\"note\">This page speaks of training records. It is for the owner of the data and lies on the "
        "trusted side of the run.</p>\n";
    body += in_plain_words(report) + cards(report);
    body += section("A lower bound on ε", bound_rows(report), about_bounds(report));
    body += section("Membership", membership_rows(report), about_membership(report));
    body += section("Exposure of planted secrets", exposure_rows(report), about_exposure(report));
    body += section("Extraction", extraction_rows(report), about_extraction(report));
    if (const auto drawn = audit_figures(report); !drawn.empty())
        body += "<h2>Figures</h2>\n" + figures(drawn, "Their numbers are in <code>audit.json</code>");
    if (!report.left_out.empty()) body += "<h2>Left out</h2>\n" + html_list(report.left_out);
    return page("Audit", body);
}

}  // namespace rldp::eval
