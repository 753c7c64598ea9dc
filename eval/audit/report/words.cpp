#include "eval/audit/report/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rldp::eval {

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

}  // namespace rldp::eval
