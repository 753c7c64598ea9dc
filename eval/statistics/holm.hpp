#pragma once
// Several tests at once: Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure".
#include <vector>

namespace rldp::eval {

/// Adjusted p-values in the order of `p_values`. To reject those at most α keeps the probability of any false rejection
/// among them at most α, however the tests depend on each other. None is below its p-value or above 1. Requires
/// p-values in [0, 1].
std::vector<double> holm(const std::vector<double>& p_values);

}  // namespace rldp::eval
