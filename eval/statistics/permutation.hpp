#pragma once
// Whether two methods differ, from their differences over the same seeds, without assuming a distribution.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rldp::eval {

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

}  // namespace rldp::eval
