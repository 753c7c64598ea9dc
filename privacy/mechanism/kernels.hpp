#pragma once
// The two inner loops over per-unit gradients on the CPU: float32 in, float64 sums, one pass over memory each. Their
// order of summation is fixed, so a result depends neither on the processor nor on the number of threads.
#include <cstdint>

namespace rldp::privacy::detail {

/// Σ x².
double squared_norm(const float* x, std::int64_t count);
/// sum += factor·x.
void add_scaled(double* sum, const float* x, double factor, std::int64_t count);

}  // namespace rldp::privacy::detail
