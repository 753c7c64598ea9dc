#pragma once
// How soon a run is as good as another at its end.
#include <cstddef>
#include <optional>
#include <vector>

#include "eval/statistics/better.hpp"

namespace rldp::eval {

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
