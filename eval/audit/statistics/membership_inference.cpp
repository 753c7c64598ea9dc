#include <fmt/format.h>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>

#include "base/error.hpp"
#include "eval/audit/statistics/finite.hpp"
#include "eval/audit/statistics/membership_inference.hpp"

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

namespace {

/// Of each score the share of `others`, which ascend, that lie below it, an equal one counting half.
std::vector<double> won_shares(const std::vector<double>& scores, const std::vector<double>& others) {
    std::vector<double> out;
    out.reserve(scores.size());
    for (const double score : scores) {
        const auto [low, high] = std::equal_range(others.begin(), others.end(), score);
        out.push_back((static_cast<double>(low - others.begin()) + static_cast<double>(high - low) / 2) /
                      static_cast<double>(others.size()));
    }
    return out;
}

double variance_of_mean(const std::vector<double>& shares) {
    return boost::math::statistics::sample_variance(shares) / static_cast<double>(shares.size());
}

}  // namespace

std::optional<measured_auc> measure_auc(const std::vector<double>& members, const std::vector<double>& non_members) {
    const auto area = auc(members, non_members);
    if (members.size() < 2 || non_members.size() < 2) return std::nullopt;
    auto below = non_members, above = members;
    std::sort(below.begin(), below.end());
    std::sort(above.begin(), above.end());
    constexpr double normal = 1.959963984540054;  // 97.5 % of the normal law lie below
    const double reach = normal * std::sqrt(variance_of_mean(won_shares(members, below)) +
                                            variance_of_mean(won_shares(non_members, above)));
    return measured_auc{*area, std::max(0.0, *area - reach), std::min(1.0, *area + reach)};
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

namespace {

using values = std::vector<double>;  // of one example, over shadows

void check(const std::vector<double>& target_phi, const std::vector<shadow_model>& shadows) {
    check_finite("target phi", target_phi);
    for (const auto& shadow : shadows) {
        if (shadow.phi.size() != target_phi.size() || shadow.trained_on.size() != target_phi.size())
            refuse(fmt::format("a shadow has {} values and {} flags for {} examples", shadow.phi.size(),
                               shadow.trained_on.size(), target_phi.size()));
        check_finite("shadow phi", shadow.phi);
    }
}

std::vector<values> by_example(const std::vector<shadow_model>& shadows, std::size_t examples, bool trained_on) {
    std::vector<values> out(examples);
    for (const auto& shadow : shadows)
        for (std::size_t i = 0; i < examples; ++i)
            if (shadow.trained_on[i] == trained_on) out[i].push_back(shadow.phi[i]);
    return out;
}

/// About each example's own mean; 0 where none has two values.
double compute_variance(std::span<const values> examples) {
    double squares = 0, freedom = 0;
    for (const auto& one : examples) {
        if (one.size() < 2) continue;
        const auto n = static_cast<double>(one.size());
        squares += n * boost::math::statistics::variance(one);
        freedom += n - 1;
    }
    return freedom == 0 ? 0 : squares / freedom;
}

struct gaussian {
    double centre, variance;
};

/// Of every example, where known.
std::vector<std::optional<gaussian>> fitted(std::vector<values> examples, std::size_t shadows) {
    constexpr std::size_t most_pooled = 64;
    const double pooled = compute_variance(examples);
    std::vector<std::optional<gaussian>> out;
    for (auto& one : examples) {
        const double variance = shadows <= most_pooled ? pooled : compute_variance({&one, 1});
        out.emplace_back();
        if (!one.empty() && variance > 0) out.back() = {boost::math::statistics::median(one), variance};
    }
    return out;
}

double z_score(double x, const gaussian& law) {
    return (x - law.centre) / std::sqrt(law.variance);
}

double log_density(double x, const gaussian& law) {  // less a constant
    const double z = z_score(x, law);
    return -z * z / 2 - std::log(law.variance) / 2;
}

}  // namespace

double log_odds(double mean_nll) {
    if (!(mean_nll > 0 && std::isfinite(mean_nll)))
        refuse(fmt::format("a mean loss of {} nats is no finite number above 0", mean_nll));
    // log(1 − e^{−x}) without cancellation (Mächler 2012)
    const double log_rest =
        mean_nll < std::numbers::ln2 ? std::log(-std::expm1(-mean_nll)) : std::log1p(-std::exp(-mean_nll));
    return -mean_nll - log_rest;
}

std::vector<std::optional<double>> online_scores(const std::vector<double>& target_phi,
                                                 const std::vector<shadow_model>& shadows) {
    check(target_phi, shadows);
    const auto in = fitted(by_example(shadows, target_phi.size(), true), shadows.size());
    const auto out = fitted(by_example(shadows, target_phi.size(), false), shadows.size());
    std::vector<std::optional<double>> scores(target_phi.size());
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (in[i] && out[i]) scores[i] = log_density(target_phi[i], *in[i]) - log_density(target_phi[i], *out[i]);
    return scores;
}

std::vector<std::optional<double>> offline_scores(const std::vector<double>& target_phi,
                                                  const std::vector<shadow_model>& shadows) {
    check(target_phi, shadows);
    const auto references = by_example(shadows, target_phi.size(), false);
    const bool single =
        std::all_of(references.begin(), references.end(), [](const auto& one) { return one.size() < 2; });
    const auto out = fitted(references, shadows.size());
    std::vector<std::optional<double>> scores(target_phi.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (single && !references[i].empty()) scores[i] = target_phi[i] - references[i].front();
        if (out[i]) scores[i] = z_score(target_phi[i], *out[i]);
    }
    return scores;
}

}  // namespace rldp::eval
