#pragma once
// Two methods over the same seeds.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "eval/statistics/better.hpp"
#include "eval/statistics/bootstrap.hpp"

namespace rldp::eval {

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

}  // namespace rldp::eval
