// What an audit comes to, in a sentence or two.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "eval/audit/report/report.hpp"

namespace rldp::eval {

namespace {

/// An attack's best figure, and how often chance alone does as well.
struct outcome_by_chance {
    std::string what;
    double p;
};

/// Mann and Whitney (1947), by the normal law: how often scores that know nothing have an AUC as high.
double chance_of_auc(double auc, std::size_t members, std::size_t others) {
    const auto n = static_cast<double>(members), m = static_cast<double>(others);
    const double deviation = std::sqrt((n + m + 1) / (12 * n * m));
    return 0.5 * std::erfc((auc - 0.5) / deviation / std::numbers::sqrt2);
}

/// The rank of a secret that was not learned is uniform, so its exposure reaches x bits with probability 2^−x at most.
double chance_of_exposure(double bits, std::size_t secrets) {
    return -std::expm1(static_cast<double>(secrets) * std::log1p(-std::exp2(-bits)));
}

void add_membership(const audit_report& report, std::vector<outcome_by_chance>& to) {
    if (!report.membership) return;
    const auto& of = *report.membership;
    const auto add = [&](const std::string& name, const std::optional<double>& auc) {
        if (auc)
            to.push_back({fmt::format("{} has AUC {:.3f}", name, *auc),
                          chance_of_auc(*auc, of.members.scores.size(), of.non_members.scores.size())});
    };
    add("membership", of.attack.auc);
    if (report.shadows) {
        add("LiRA offline", report.shadows->offline.auc);
        add("LiRA online", report.shadows->online.auc);
    }
}

void add_exposure(const audit_report& report, std::vector<outcome_by_chance>& to) {
    if (!report.exposure || report.exposure->canaries.empty()) return;
    const auto& all = report.exposure->canaries;
    const double most =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; })->rank;
    to.push_back({fmt::format("the largest exposure of {} secret{} is {:.1f} bits", all.size(),
                              all.size() == 1 ? "" : "s", most),
                  chance_of_exposure(most, all.size())});
}

std::string in_words(const std::vector<outcome_by_chance>& all) {
    std::vector<std::string> out;
    out.reserve(all.size());
    for (const auto& one : all) out.push_back(fmt::format("{}, p = {:.2g}", one.what, one.p));
    return fmt::format("{}", fmt::join(out, "; "));
}

}  // namespace

std::string conclusion(const audit_report& report) {
    const auto bound = audited_epsilon(report);
    if (bound && *bound > report.claimed_epsilon)
        return fmt::format("The claim is REFUTED: whoever keeps ε = {:.2f} lets nobody guess so many canaries right.",
                           report.claimed_epsilon);
    std::vector<outcome_by_chance> tried;
    add_membership(report, tried);
    add_exposure(report, tried);
    std::int64_t found = 0;
    for (const auto& one : report.extractions) found = std::max(found, one.found);
    if (tried.empty() && !bound && report.extractions.empty())
        return "Nothing was attacked: this run has neither canaries nor records to compare. See what was left out.";
    std::vector<std::string> won;
    if (found > 0) won.push_back(fmt::format("{} planted secret{} came out whole", found, found == 1 ? "" : "s"));
    if (bound && *bound > 0)
        won.push_back(fmt::format("coins of canaries were guessed better than chance (ε ≥ {:.2f})", *bound));
    std::erase_if(tried, [&, tests = static_cast<double>(tried.size())](const auto& one) {
        const bool significant = one.p * tests < 0.05;  // Bonferroni
        if (significant) won.push_back(fmt::format("{} (p = {:.2g})", one.what, one.p));
        return significant;
    });
    const auto rest = tried.empty() ? std::string() : ": " + in_words(tried);
    if (won.empty())
        return fmt::format("No attack beat chance{}. Other attacks may do better; the contract holds against all.",
                           rest);
    return fmt::format("Beyond chance: {}.{}", fmt::join(won, "; "),
                       tried.empty() ? std::string() : " Within chance" + rest + ".");
}

}  // namespace rldp::eval
