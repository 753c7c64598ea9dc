#include "privacy/mechanism/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace rldp::privacy {

namespace {

void require_all_positive(const std::vector<double>& values, std::string_view each) {
    for (const double value : values) require_positive(value, each);
}

/// Equal where none are given; else scaled to the exact sum 1, which the multiplier depends on.
std::vector<double> normalised_shares(std::vector<double> shares, std::size_t groups) {
    if (shares.empty()) shares.assign(groups, 1 / static_cast<double>(groups));
    require(shares.size() == groups, "noise shares: one per group is needed");
    require_all_positive(shares, "a noise share");
    double sum = 0;
    for (double share : shares) sum += share;
    require(std::abs(sum - 1) < 1e-3, "noise shares do not sum to 1");
    for (double& share : shares) share /= sum;
    return shares;
}

}  // namespace

double measurement_multiplier(double noise_multiplier, double share) {
    require_positive(noise_multiplier, "the noise multiplier");
    require(share >= 0 && share < 1, "noise.statistics_share lies outside [0, 1)");
    return share > 0 ? noise_multiplier / std::sqrt(share) : std::numeric_limits<double>::infinity();
}

double gradient_multiplier(double noise_multiplier, double measurement_multiplier) {
    require_positive(noise_multiplier, "the noise multiplier");
    const double ratio = noise_multiplier / measurement_multiplier;
    if (!(ratio >= 0 && ratio < 1))
        refuse(fmt::format(
            "a measurement at multiplier {} leaves nothing of the joint multiplier {} for the gradient; give "
            "it more noise",
            measurement_multiplier, noise_multiplier));
    return noise_multiplier / std::sqrt(1 - ratio * ratio);
}

std::vector<double> noise_standard_deviations(allocation how, double gradient_multiplier,
                                              const std::vector<double>& radii, const std::vector<std::int64_t>& sizes,
                                              const std::vector<double>& shares) {
    const std::size_t n = radii.size();
    require(n > 0 && sizes.size() == n, "one clip radius per group is needed");
    require_positive(gradient_multiplier, "the gradient's noise multiplier");
    require_all_positive(radii, "a clip radius");
    require(std::all_of(sizes.begin(), sizes.end(), [](auto d) { return d >= 1; }), "a group has no coordinates");
    const double z = gradient_multiplier;
    std::vector<double> s(n);
    switch (how) {
        case allocation::shares: {
            const auto parts = normalised_shares(shares, n);
            for (std::size_t i = 0; i < n; ++i) s[i] = z * radii[i] / std::sqrt(parts[i]);
            break;
        }
        case allocation::proportional:
            for (std::size_t i = 0; i < n; ++i) s[i] = z * std::sqrt(static_cast<double>(n)) * radii[i];
            break;
        case allocation::uniform: {
            double squares = 0;
            for (double c : radii) squares += c * c;
            std::fill(s.begin(), s.end(), z * std::sqrt(squares));
            break;
        }
        case allocation::min_variance: {
            // Least Σ d_i s_i² under Σ C_i²/s_i² = 1/z², by Lagrange's multiplier.
            double total = 0;
            for (std::size_t i = 0; i < n; ++i) total += radii[i] * std::sqrt(static_cast<double>(sizes[i]));
            for (std::size_t i = 0; i < n; ++i) {
                s[i] = z * std::sqrt(total * radii[i] / std::sqrt(static_cast<double>(sizes[i])));
            }
            break;
        }
    }
    require_all_positive(s, "a noise standard deviation (radii too large or too small)");
    return s;
}

double effective_multiplier(const std::vector<double>& sensitivities, const std::vector<double>& standard_deviations) {
    require(!sensitivities.empty() && sensitivities.size() == standard_deviations.size(),
            "one noise standard deviation per sensitivity is needed");
    require_all_positive(sensitivities, "a sensitivity");
    require_all_positive(standard_deviations, "a noise standard deviation");
    double squares = 0;
    for (std::size_t i = 0; i < sensitivities.size(); ++i) {
        const double ratio = sensitivities[i] / standard_deviations[i];
        squares += ratio * ratio;
    }
    return 1 / std::sqrt(squares);
}

}  // namespace rldp::privacy
