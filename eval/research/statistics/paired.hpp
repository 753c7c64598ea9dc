#pragma once
// Two methods over the same seeds: how sure their mean difference is, whether they differ, and how soon one is as good
// as the other at its end.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rldp::eval {

/// Which of two values of a measure is the better one: of perplexity the lower, of accuracy the higher.
enum class better { lower, higher };

// Interval. How sure a mean difference is: the BCa bootstrap of Efron (1987), "Better Bootstrap Confidence Intervals",
// with the formulas of Efron and Tibshirani (1993), "An Introduction to the Bootstrap".

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

// Permutation test. Whether two methods differ, from their differences over the same seeds, without assuming a
// distribution.

/// Up to so many differences all patterns of signs are enumerated; 2^20 take some milliseconds.
constexpr std::size_t most_enumerated = 20;
/// So many patterns are drawn where there are more differences.
constexpr std::size_t drawn_patterns = 99'999;

/// Two-sided p-value of the mean difference: the share of the 2^n patterns of signs under which the mean is at least as
/// far from 0 as the observed one (Fisher 1935, "The Design of Experiments", section 21). It tests that every
/// difference is as likely to be x as −x, which holds where the methods are exchangeable given the seed. Means that
/// differ by less than 1e-10 of the mean size of the differences are equal. Up to `most_enumerated` differences p is
/// exact, a multiple of 2^−n, and does not depend on `seed`; beyond, an estimate from `drawn_patterns` patterns that is
/// never below 1/100,000. Both patterns of one difference are as far from 0, as is the only one of none: their p is 1.
/// With fewer than six differences p can't fall to 0.05. Errors: bad_input for a difference that is infinite or NaN.
double paired_permutation(const std::vector<double>& differences, std::uint64_t seed);

/// Two-sided p-value of the signed-rank test (Wilcoxon 1945, "Individual Comparisons by Ranking Methods"): the test
/// above on the ranks of the differences' sizes, with their signs. So one difference that is huge counts as the largest
/// and no more. Differences of 0 are left out, equal sizes share their mean rank. Errors: as paired_permutation.
double wilcoxon(const std::vector<double>& differences, std::uint64_t seed);

// Several tests at once. Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure".

/// Adjusted p-values in the order of `p_values`. To reject those at most α keeps the probability of any false rejection
/// among them at most α, however the tests depend on each other. None is below its p-value or above 1. Requires
/// p-values in [0, 1].
std::vector<double> holm(const std::vector<double>& p_values);

// Pairs. Two methods over the same seeds.

/// Gains are in the measure's unit and above 0 where ours is better, whichever of its values are.
struct paired_comparison {
    std::size_t pairs;
    double mean_gain;
    std::optional<confidence_interval> interval;  ///< of the mean gain; absent for fewer than three pairs
    double p;                                     ///< of paired_permutation()
    std::size_t wins, losses, ties;               ///< pairs whose gain is above, below, equal to 0
    double worst_gain;                            ///< the smallest: what ours loses at worst
};

/// The values at one index are of one seed. Requires as many of theirs as of ours, and a pair at least. Errors:
/// bad_input for a value that is infinite or NaN.
paired_comparison compare_pairs(const std::vector<double>& ours, const std::vector<double>& theirs, better which,
                                std::uint64_t resampling_seed);

/// Adjusted p-values up to this are no tie.
constexpr double significance = 0.05;
enum class verdict { win, tie, loss };

/// What may be said of ours: a tie is a difference that was not shown, not one shown to be small. Requires the p-value
/// of this very comparison, adjusted for all that are made beside it (holm()).
verdict find_verdict(const paired_comparison& seen, double adjusted_p);

// Speed. How soon a run is as good as another at its end.

/// One evaluation of a run: where it was, in steps or any other unit of work, and what it found.
struct curve_point {
    double position, value;
};

/// The first position whose value is at least as good as `target`, divided by `end`, which is where the run was planned
/// to end; in [0, 1]. Absent (censored) where no value is: not reached as far as was seen. A value that is infinite or
/// NaN, as of a run that diverged, reaches nothing. There is no interpolation, so a share is late by up to the distance
/// of two evaluations. Errors: bad_input for a target that is infinite or NaN, an end that is not above 0, positions
/// that don't rise or are not within 0 and the end.
std::optional<double> share_to_target(const std::vector<curve_point>& curve, double end, double target, better which);

struct speed_to_target {
    double mean_share;  ///< in [0, 1]; a censored run counts as 1, although its own would be more: a lower bound
    std::size_t runs, censored;
};

/// Over seeds, of what share_to_target() said. Requires a run at least.
speed_to_target speed_over(const std::vector<std::optional<double>>& shares);

}  // namespace rldp::eval
