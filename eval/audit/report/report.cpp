#include "eval/audit/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rldp::eval {

separation measure_separation(const std::vector<double>& members, const std::vector<double>& non_members) {
    return {.auc = auc(members, non_members),
            .at_tenth_percent = true_positives_at(0.001, members, non_members),
            .at_percent = true_positives_at(0.01, members, non_members),
            .curve = roc_curve(members, non_members)};
}

std::optional<double> audited_epsilon(const audit_report& report) {
    if (report.bounds.empty()) return std::nullopt;
    return std::max_element(report.bounds.begin(), report.bounds.end(),
                            [](const auto& a, const auto& b) { return a.epsilon < b.epsilon; })
        ->epsilon;
}

std::string verdict(const audit_report& report) {
    const auto claimed = std::isfinite(report.claimed_epsilon) ? fmt::format("claimed ≤ {:.2f}", report.claimed_epsilon)
                                                               : std::string("nothing claimed");
    const auto audited = audited_epsilon(report);
    if (!audited) return claimed + "; no bound audited";
    return fmt::format("{}; audited ≥ {:.2f} ({:g} %)", claimed, *audited, 100 * report.confidence);
}

audit_point make_point(const audit_report& report) {
    audit_point out{.step = report.step, .auc = {}, .mean_exposure = {}, .epsilon = audited_epsilon(report)};
    if (report.membership) out.auc = report.membership->attack.auc;
    if (report.exposure && !report.exposure->canaries.empty()) {
        const auto& all = report.exposure->canaries;
        const double sum = std::accumulate(all.begin(), all.end(), 0.0,
                                           [](double total, const auto& one) { return total + one.rank; });
        out.mean_exposure = sum / static_cast<double>(all.size());
    }
    return out;
}

}  // namespace rldp::eval
