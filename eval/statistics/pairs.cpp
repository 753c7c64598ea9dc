#include "eval/statistics/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/require.hpp"
#include "eval/statistics/finite.hpp"
#include "eval/statistics/permutation.hpp"

namespace rldp::eval {
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

}  // namespace rldp::eval
