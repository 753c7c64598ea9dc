#include "eval/statistics/permutation.hpp"

#include <cmath>
#include <random>
#include <span>

#include "eval/statistics/finite.hpp"

namespace rldp::eval {
namespace {

/// What each difference adds to the mean; so divided, no sum of them overflows.
std::vector<double> parts_of_mean(std::vector<double> differences) {
    const auto n = static_cast<double>(differences.size());
    for (double& one : differences) one /= n;
    return differences;
}

/// From this distance to 0 on a mean counts as at least as far as the observed one. Means that are equal in exact
/// arithmetic differ by rounding, depending on the order of the sum, and must not fall on either side of it.
double observed_distance(std::span<const double> parts) {
    double mean = 0, mean_size = 0;
    for (const double part : parts) mean += part, mean_size += std::abs(part);
    return std::abs(mean) - 1e-10 * mean_size;
}

/// How many patterns of signs of `rest`, added to `mean`, come out at least as far from 0.
std::uint64_t count_far(double mean, std::span<const double> rest, double distance) {
    if (rest.empty()) return std::abs(mean) >= distance ? 1 : 0;
    const auto others = rest.subspan(1);
    return count_far(mean + rest.front(), others, distance) + count_far(mean - rest.front(), others, distance);
}

double drawn_mean(std::span<const double> parts, std::mt19937_64& random) {
    double mean = 0;
    std::uint64_t signs = 0;
    for (std::size_t i = 0; i < parts.size(); ++i, signs >>= 1) {
        if (i % 64 == 0) signs = random();
        mean += (signs & 1) != 0 ? parts[i] : -parts[i];
    }
    return mean;
}

double estimated_p(std::span<const double> parts, double distance, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::size_t far = 0;
    for (std::size_t i = 0; i < drawn_patterns; ++i)
        if (std::abs(drawn_mean(parts, random)) >= distance) ++far;
    // The observed pattern is one of the possible: with it counted the test keeps its level, and p is never 0 (Phipson
    // and Smyth 2010, "Permutation P-values Should Never Be Zero").
    return static_cast<double>(far + 1) / static_cast<double>(drawn_patterns + 1);
}

}  // namespace

double paired_permutation(const std::vector<double>& differences, std::uint64_t seed) {
    check_finite("difference", differences);
    const auto parts = parts_of_mean(differences);
    const double distance = observed_distance(parts);
    if (parts.size() > most_enumerated) return estimated_p(parts, distance, seed);
    const auto far = static_cast<double>(count_far(0, parts, distance));
    return std::ldexp(far, -static_cast<int>(parts.size()));
}

}  // namespace rldp::eval
