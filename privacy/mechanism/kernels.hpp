#pragma once
// The two inner loops over per-unit gradients on the CPU: float32 in, one pass over memory each. A result depends
// neither on the processor nor on the number of threads: the order of additions is fixed, or they are of integers.
#include <cstdint>

namespace rldp::privacy::detail {

/// Σ x².
double squared_norm(const float* x, std::int64_t count);
/// sum += factor·x, each product towards zero to a whole number of at most `limit` < 2⁵¹, larger ones to ±limit.
void add_whole(std::int64_t* sum, const float* x, double factor, double limit, std::int64_t count);

}  // namespace rldp::privacy::detail
