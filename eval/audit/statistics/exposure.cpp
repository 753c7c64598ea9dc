#include "eval/audit/statistics/exposure.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "eval/statistics/finite.hpp"

namespace rldp::eval {

double rank_exposure(double secret, const std::vector<double>& others) {
    check_finite("secret", {secret});
    check_finite("reference", others);
    const auto not_above = std::count_if(others.begin(), others.end(), [&](double other) { return other <= secret; });
    return std::log2(static_cast<double>(others.size() + 1)) - std::log2(static_cast<double>(not_above + 1));
}

double extrapolated_exposure(double secret, const skew_normal& references) {
    check_finite("secret", {secret});
    return std::abs(log_cdf(references, secret)) / std::numbers::ln2;  // never −0
}

}  // namespace rldp::eval
