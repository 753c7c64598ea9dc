#include "eval/audit/statistics/roc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <functional>

#include "config/base/error.hpp"
#include "eval/statistics/finite.hpp"

namespace rldp::eval {
namespace {

/// How many of either side score at least as high as a threshold.
struct positives {
    std::size_t members = 0, others = 0;
};

double share(std::size_t count, std::size_t total) {
    return static_cast<double>(count) / static_cast<double>(total);
}

/// At every distinct score, falling, after none at all.
std::vector<positives> by_threshold(std::vector<double> members, std::vector<double> others) {
    check_finite("member score", members);
    check_finite("non-member score", others);
    std::sort(members.begin(), members.end(), std::greater<>());
    std::sort(others.begin(), others.end(), std::greater<>());
    std::vector<positives> out(1);
    while (out.back().members < members.size() || out.back().others < others.size()) {
        auto [m, o] = out.back();
        const double threshold = o == others.size()    ? members[m]
                                 : m == members.size() ? others[o]
                                                       : std::max(members[m], others[o]);
        while (m < members.size() && members[m] == threshold) ++m;
        while (o < others.size() && others[o] == threshold) ++o;
        out.push_back({m, o});
    }
    return out;
}

}  // namespace

proportion compute_proportion(std::size_t count, std::size_t total) {
    if (total == 0 || count > total) refuse(fmt::format("{} of {} is no proportion", count, total));
    using binomial = boost::math::binomial_distribution<double>;
    const auto n = static_cast<double>(total), k = static_cast<double>(count);
    constexpr double either_side = 0.025;
    return {count, total, binomial::find_lower_bound_on_p(n, k, either_side),
            binomial::find_upper_bound_on_p(n, k, either_side)};
}

std::optional<double> auc(const std::vector<double>& members, const std::vector<double>& non_members) {
    const auto steps = by_threshold(members, non_members);
    if (members.empty() || non_members.empty()) return std::nullopt;
    // The area under the ROC's trapezia, doubled and in whole pairs.
    std::size_t doubled = 0;
    for (std::size_t i = 1; i < steps.size(); ++i)
        doubled += (steps[i].others - steps[i - 1].others) * (steps[i].members + steps[i - 1].members);
    return share(doubled, 2 * members.size() * non_members.size());
}

std::vector<roc_point> roc_curve(const std::vector<double>& members, const std::vector<double>& non_members) {
    const auto steps = by_threshold(members, non_members);
    if (members.empty() || non_members.empty()) return {};
    std::vector<roc_point> out;
    out.reserve(steps.size());
    for (const auto& at : steps)
        out.push_back({share(at.others, non_members.size()), share(at.members, members.size())});
    return out;
}

std::optional<proportion> true_positives_at(double false_positives, const std::vector<double>& members,
                                            const std::vector<double>& non_members) {
    if (!(false_positives >= 0 && false_positives <= 1))
        refuse(fmt::format("a false positive rate of {} is outside of 0 to 1", false_positives));
    const auto steps = by_threshold(members, non_members);
    if (members.empty() || non_members.empty()) return std::nullopt;
    const auto beyond = std::find_if(steps.begin(), steps.end(), [&](const positives& at) {
        return share(at.others, non_members.size()) > false_positives;
    });
    return compute_proportion(std::prev(beyond)->members, members.size());
}

}  // namespace rldp::eval
