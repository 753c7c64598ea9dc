#include "privacy/accounting/risk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace rldp::privacy {
namespace {

double normal_quantile(double share) {
    return boost::math::quantile(boost::math::normal(), share);
}
double normal_share(double at) {
    return boost::math::cdf(boost::math::normal(), at);
}

}  // namespace

trade_off::trade_off(std::span<const phase> phases, double additive_delta) {
    if (!(additive_delta >= 0 && additive_delta <= 1))
        refuse(fmt::format("risk: an additive δ of {} must lie in [0, 1]", additive_delta));
    auto curve = privacy_profile(phases);
    for (auto& point : curve) point.delta = std::min(1.0, point.delta + additive_delta);
    profiles_ = {std::move(curve)};
}

trade_off::trade_off(double epsilon, double delta) {
    check_epsilon(epsilon);
    if (!(delta >= 0 && delta <= 1)) refuse(fmt::format("risk: δ {} must lie in [0, 1]", delta));
    profiles_ = {{{epsilon, delta}}};
}

trade_off trade_off::worse_of(const trade_off& other) const {
    auto out = *this;
    out.profiles_.insert(out.profiles_.end(), other.profiles_.begin(), other.profiles_.end());
    return out;
}

/// A test that is right about one neighbour with probability t and wrong about the other with probability α has, for
/// every ε, t ≤ e^ε·α + δ(ε) and 1 − α ≤ e^ε·(1 − t) + δ(ε) (docs/privacy.md §17).
double trade_off::true_positive_rate(double rate) const {
    if (!(rate >= 0 && rate <= 1)) refuse(fmt::format("risk: a false-positive rate of {} must lie in [0, 1]", rate));
    double worst = rate;
    for (const auto& profile : profiles_) {
        double least = 1;
        for (const auto& [epsilon, delta] : profile)
            least = std::min({least, std::exp(epsilon) * rate + delta, 1 - std::exp(-epsilon) * (1 - delta - rate)});
        worst = std::max(worst, least);
    }
    return worst;
}

/// Where the two lines of one ε meet.
double trade_off::advantage() const {
    double worst = 0;
    for (const auto& profile : profiles_) {
        double least = 1;
        for (const auto& [epsilon, delta] : profile)
            least = std::min(least, (std::expm1(epsilon) + 2 * delta) / (std::exp(epsilon) + 1));
        worst = std::max(worst, least);
    }
    return worst;
}

/// Rates above a half are those below it in the other direction.
gaussian_cover trade_off::cover(double least_rate) const {
    constexpr int count = 64;
    struct rates {
        double wrong, right;
    };
    std::vector<rates> all;
    for (int i = 0; i <= count; ++i) {
        const double wrong = least_rate * std::pow(0.5 / least_rate, static_cast<double>(i) / count);
        all.push_back({wrong, true_positive_rate(wrong)});
    }
    gaussian_cover out{0, 0};
    for (const auto& [wrong, right] : all) {
        if (right >= 1) return {std::numeric_limits<double>::infinity(), 0};
        out.mu = std::max(out.mu, normal_quantile(right) - normal_quantile(wrong));
    }
    for (const auto& [wrong, right] : all)
        out.excess = std::max(out.excess, normal_share(normal_quantile(wrong) + out.mu) - right);
    return out;
}

}  // namespace rldp::privacy
