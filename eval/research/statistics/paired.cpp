#include <fmt/format.h>
#include <boost/math/distributions/normal.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include "base/error.hpp"
#include "eval/audit/statistics/finite.hpp"
#include "eval/research/statistics/paired.hpp"

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

double wilcoxon(const std::vector<double>& differences, std::uint64_t seed) {
    check_finite("difference", differences);
    auto rising = differences;
    std::erase(rising, 0.0);
    std::sort(rising.begin(), rising.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::vector<double> ranks(rising.size());
    for (std::size_t first = 0, last = 0; first < rising.size(); first = last) {
        while (last < rising.size() && std::abs(rising[last]) == std::abs(rising[first])) ++last;
        const double mean = static_cast<double>(first + last + 1) / 2;
        for (std::size_t i = first; i < last; ++i) ranks[i] = std::copysign(mean, rising[i]);
    }
    return paired_permutation(ranks, seed);
}

std::vector<double> holm(const std::vector<double>& p_values) {
    for (const double p : p_values) require(p >= 0 && p <= 1, fmt::format("a p-value is {}, not in [0, 1]", p));
    std::vector<std::size_t> rising(p_values.size());
    std::iota(rising.begin(), rising.end(), std::size_t{0});
    std::stable_sort(rising.begin(), rising.end(), [&](auto a, auto b) { return p_values[a] < p_values[b]; });
    std::vector<double> adjusted(p_values.size());
    double last = 0;
    for (std::size_t rank = 0; rank < rising.size(); ++rank) {
        // The smallest is held against α/k, the next against α/(k − 1), and so on until one is not rejected (Holm
        // 1979): a later one is never rejected without all before it, hence the maximum.
        const auto left = static_cast<double>(rising.size() - rank);
        last = std::min(1.0, std::max(last, left * p_values[rising[rank]]));
        adjusted[rising[rank]] = last;
    }
    return adjusted;
}

namespace {

std::vector<double> compute_gains(const std::vector<double>& ours, const std::vector<double>& theirs, better which) {
    std::vector<double> gains;
    gains.reserve(ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
        gains.push_back(which == better::lower ? theirs[i] - ours[i] : ours[i] - theirs[i]);
    return gains;
}

double compute_mean(const std::vector<double>& gains) {
    double mean = 0;
    for (const double gain : gains) mean += gain / static_cast<double>(gains.size());  // so that no sum overflows
    return mean;
}

std::size_t count(const std::vector<double>& gains, auto&& counts) {
    return static_cast<std::size_t>(std::count_if(gains.begin(), gains.end(), counts));
}

}  // namespace

paired_comparison compare_pairs(const std::vector<double>& ours, const std::vector<double>& theirs, better which,
                                std::uint64_t resampling_seed) {
    require(ours.size() == theirs.size(),
            fmt::format("{} values are compared with {}: they make no pairs", ours.size(), theirs.size()));
    require(!ours.empty(), "a comparison without a pair");
    check_finite("our value", ours);
    check_finite("their value", theirs);
    const auto gains = compute_gains(ours, theirs, which);
    const double p = paired_permutation(gains, resampling_seed);  // refuses gains that have overflowed
    return {.pairs = gains.size(),
            .mean_gain = compute_mean(gains),
            .interval = bootstrap_interval(gains, resampling_seed),
            .p = p,
            .wins = count(gains, [](double gain) { return gain > 0; }),
            .losses = count(gains, [](double gain) { return gain < 0; }),
            .ties = count(gains, [](double gain) { return gain == 0; }),
            .worst_gain = *std::min_element(gains.begin(), gains.end())};
}

verdict find_verdict(const paired_comparison& seen, double adjusted_p) {
    require(adjusted_p >= seen.p && adjusted_p <= 1,
            fmt::format("{} is no adjusted p-value of a comparison with p = {}", adjusted_p, seen.p));
    if (adjusted_p > significance) return verdict::tie;
    return seen.mean_gain > 0 ? verdict::win : verdict::loss;
}

namespace {

void check_positions(const std::vector<curve_point>& curve, double end) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const double at = curve[i].position;
        refuse_unless(at >= 0 && at <= end, fmt::format("position {} of a curve is {}, not in [0, {}]", i, at, end));
        refuse_unless(i == 0 || at > curve[i - 1].position,
                      fmt::format("position {} of a curve is {}, not above the one before it", i, at));
    }
}

bool reaches(double value, double target, better which) {
    return std::isfinite(value) && (which == better::lower ? value <= target : value >= target);
}

}  // namespace

std::optional<double> share_to_target(const std::vector<curve_point>& curve, double end, double target, better which) {
    refuse_unless(std::isfinite(target), fmt::format("the target of a curve is {}, no finite number", target));
    refuse_unless(is_positive(end), fmt::format("the end of a curve is {}, not positive and finite", end));
    check_positions(curve, end);
    const auto first = std::find_if(curve.begin(), curve.end(),
                                    [&](const curve_point& at) { return reaches(at.value, target, which); });
    if (first == curve.end()) return std::nullopt;
    return first->position / end;
}

speed_to_target speed_over(const std::vector<std::optional<double>>& shares) {
    require(!shares.empty(), "the speed of no run");
    double sum = 0;
    for (const auto& share : shares) sum += share.value_or(1);
    const auto censored = std::count(shares.begin(), shares.end(), std::nullopt);
    return {sum / static_cast<double>(shares.size()), shares.size(), static_cast<std::size_t>(censored)};
}

}  // namespace rldp::eval
