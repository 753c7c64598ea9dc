#include "eval/statistics/bootstrap.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include "eval/statistics/finite.hpp"

namespace rldp::eval {
namespace {

/// Uniform below n up to a bias of n/2^32; std's distributions differ from library to library, this does not.
std::size_t draw_below(std::size_t n, std::mt19937_64& random) {
    return static_cast<std::size_t>((random() >> 32) * n >> 32);
}

/// Sorted. Parts are differences divided by their number, so that a sum of n is a mean and does not overflow.
std::vector<double> resampled_means(std::span<const double> parts, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> means(bootstrap_resamples);
    for (double& mean : means)
        for (std::size_t i = 0; i < parts.size(); ++i) mean += parts[draw_below(parts.size(), random)];
    std::sort(means.begin(), means.end());
    return means;
}

double normal_quantile(double share) {
    return quantile(boost::math::normal(), share);
}

/// z₀ (Efron and Tibshirani 1993, section 14.3): from the share of resamples below the observed mean, an equal one
/// counting half, up to the rounding of sums. Finite: a resample's mean has a kurtosis of at most 4, and with it more
/// than a tenth of its probability on either side of its centre (He, Zhang and Zhang 2010, "Bounding Probability of
/// Small Deviation").
double bias_correction(const std::vector<double>& means, std::span<const double> parts) {
    double mean = 0, mean_size = 0;
    for (const double part : parts) mean += part, mean_size += std::abs(part);
    const double rounding = 1e-12 * mean_size;
    const auto below = std::lower_bound(means.begin(), means.end(), mean - rounding) - means.begin();
    const auto not_above = std::upper_bound(means.begin(), means.end(), mean + rounding) - means.begin();
    const double count = static_cast<double>(below + not_above) / 2;
    return normal_quantile(count / static_cast<double>(means.size()));
}

/// a (as above) by the jackknife, whose values for a mean are the deviations from it up to a factor: a sixth of their
/// skewness over √n. At most 1/6.
double acceleration(std::span<const double> parts) {
    const double centre = std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(parts.size());
    double largest = 0, squares = 0, cubes = 0;
    for (const double part : parts) largest = std::max(largest, std::abs(part - centre));
    for (const double part : parts) {
        const double deviation = (part - centre) / largest;  // so that no cube overflows or vanishes
        squares += deviation * deviation;
        cubes += deviation * deviation * deviation;
    }
    return cubes / (6 * std::pow(squares, 1.5));
}

/// Between the neighbouring ones; `share` in [0, 1].
double compute_quantile(const std::vector<double>& sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto before = static_cast<std::size_t>(at);
    const auto after = std::min(before + 1, sorted.size() - 1);
    return std::lerp(sorted[before], sorted[after], at - static_cast<double>(before));
}

}  // namespace

std::optional<confidence_interval> bootstrap_interval(const std::vector<double>& differences, std::uint64_t seed) {
    check_finite("difference", differences);
    if (differences.size() < 3) return std::nullopt;
    auto parts = differences;
    for (double& part : parts) part /= static_cast<double>(differences.size());
    const auto [least, most] = std::minmax_element(parts.begin(), parts.end());
    if (*least == *most) return confidence_interval{differences.front(), differences.front()};
    const auto means = resampled_means(parts, seed);
    const double z0 = bias_correction(means, parts), a = acceleration(parts);
    const auto end = [&](double normal) {
        const double shifted = z0 + normal;
        const double z = z0 + shifted / (1 - a * shifted);  // the BCa endpoint of Efron 1987
        return compute_quantile(means, cdf(boost::math::normal(), z));
    };
    const double either_side = normal_quantile((1 + interval_level) / 2);
    return confidence_interval{end(-either_side), end(either_side)};
}

}  // namespace rldp::eval
