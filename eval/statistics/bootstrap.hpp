#pragma once
// How sure a mean difference is: the BCa bootstrap of Efron (1987), "Better Bootstrap Confidence Intervals",
// with the formulas of Efron and Tibshirani (1993), "An Introduction to the Bootstrap".
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rldp::eval {

constexpr double interval_level = 0.95;
constexpr std::size_t bootstrap_resamples = 10'000;

struct confidence_interval {
    double low, high;  ///< both ends belong to it
};

/// Of the mean of differences over seeds, at `interval_level`: bias-corrected and accelerated, from
/// `bootstrap_resamples` resamples, the same for the same seed everywhere. Of few differences it is too short:
/// simulated over normal ones it covers their law's mean in 84 % of the cases for five, 90 % for ten, 93 % for twenty,
/// 95 % for fifty, and over exponential ones in 81, 89, 93 and 94 %. Hence whether two methods differ is said by
/// paired_permutation(), never by an interval without 0. Where all differences are equal, so are its ends. Absent for
/// fewer than three differences, whose spread tells next to nothing. Errors: bad_input for a difference that is
/// infinite or NaN.
std::optional<confidence_interval> bootstrap_interval(const std::vector<double>& differences, std::uint64_t seed);

}  // namespace rldp::eval
