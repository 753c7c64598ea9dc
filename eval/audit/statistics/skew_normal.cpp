#include "eval/audit/statistics/skew_normal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/skew_normal.hpp>
#include <boost/math/quadrature/exp_sinh.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <numbers>

#include "config/base/error.hpp"
#include "config/base/limits.hpp"
#include "eval/audit/statistics/nelder_mead.hpp"
#include "eval/statistics/finite.hpp"

namespace rldp::eval {
namespace {

using std::numbers::pi;

/// log Φ(x).
double log_normal_cdf(double x) {
    if (x > -30) return std::log(std::erfc(-x / std::numbers::sqrt2) / 2);
    const double u = 1 / (x * x);  // the asymptotic series (Abramowitz and Stegun 26.2.12): here to 1e-12
    return -x * x / 2 - std::log(-x * std::sqrt(2 * pi)) + std::log1p(-u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u))));
}

/// log(φ(z)·Φ(αz)) less a constant.
double log_shape(double z, double alpha) {
    return log_normal_cdf(alpha * z) - z * z / 2;
}

/// ξ, log ω, α; so every point is a law.
using parameters = point<3>;

skew_normal make_law(const parameters& at) {
    return {at[0], std::exp(at[1]), at[2]};
}

/// The law of mean 0, deviation 1 and this skewness, brought within what a skew-normal can have.
parameters with_moments(double skewness) {
    const double skew = std::min(std::abs(skewness), 0.9), root = std::cbrt(skew * skew);
    const double size = std::sqrt(pi / 2 * root / (root + std::cbrt((4 - pi) * (4 - pi) / 4)));
    const double delta = std::copysign(size, skewness), scale = 1 / std::sqrt(1 - 2 * delta * delta / pi);
    return {-scale * delta * std::sqrt(2 / pi), std::log(scale), delta / std::sqrt(1 - delta * delta)};
}

/// Of sorted values.
double distance_to(const skew_normal& law, const std::vector<double>& sorted) {
    const auto n = static_cast<double>(sorted.size());
    double largest = 0, below = 0;
    for (const double value : sorted) {
        const double f = std::exp(log_cdf(law, value));
        largest = std::max({largest, f - below / n, (below + 1) / n - f});
        ++below;
    }
    return largest;
}

/// P[K > x] of Kolmogorov's limit law (Kolmogorov 1933).
double beyond_kolmogorov(double x) {
    if (x < 0.2) return 1;  // to 1e-12; the series below needs ever more terms
    double sum = 0;
    for (int k = 1; k < 20; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2 * k * k * x * x);
    return std::clamp(sum, 0.0, 1.0);
}

}  // namespace

double log_cdf(const skew_normal& law, double x) {
    const double direct = cdf(boost::math::skew_normal(law.location, law.scale, law.shape), x);
    if (direct > 1e-6) return std::min(0.0, std::log(direct));
    // Further down the direct difference of Φ and Owen's T cancels: integrate the density relative to its value at x.
    const double z = (x - law.location) / law.scale, here = log_shape(z, law.shape);
    const auto relative = [&](double t) { return std::exp(log_shape(z - t, law.shape) - here); };
    const double integral = boost::math::quadrature::exp_sinh<double>().integrate(relative);
    return here + std::log(integral) + std::log(2 / pi) / 2;
}

skew_normal_fit fit_skew_normal(std::vector<double> values) {
    check_finite("reference", values);
    if (std::ssize(values) < limits::fewest_references)
        refuse(
            fmt::format("{} references are too few to fit; give {} or more", values.size(), limits::fewest_references));
    std::sort(values.begin(), values.end());
    if (values.front() == values.back()) refuse(fmt::format("all references are {}: no law to fit", values.front()));
    namespace statistics = boost::math::statistics;
    const double mean = statistics::mean(values), deviation = std::sqrt(statistics::variance(values));
    const auto n = static_cast<double>(values.size());
    const auto mean_nll = [&](const parameters& at) {  // of the standardised values, less a constant
        const auto law = make_law(at);
        double sum = 0;
        for (const double value : values)
            sum += log_shape(((value - mean) / deviation - law.location) / law.scale, law.shape);
        return at[1] - sum / n;
    };
    auto law = make_law(minimise(mean_nll, with_moments(statistics::skewness(values)), 0.2, 1e-13));
    law = {mean + deviation * law.location, deviation * law.scale, law.shape};
    const double distance = distance_to(law, values);
    return {law, distance, beyond_kolmogorov(std::sqrt(n) * distance)};
}

}  // namespace rldp::eval
