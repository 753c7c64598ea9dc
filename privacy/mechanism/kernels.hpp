#pragma once
// The inner loops over per-unit gradients and their sum on the CPU: one pass over memory each. A result depends
// neither on the processor nor on the number of threads: the order of additions is fixed, or they are of integers.
#include <cstdint>

namespace rldp::privacy::detail {

inline constexpr double public_grid = 0x1p-20;  ///< in standard deviations of the noise

/// Σ x².
double squared_norm(const float* x, std::int64_t count);
/// sum += factor·x, each product towards zero to a whole number of at most `limit` < 2⁵¹, larger ones to ±limit.
void add_truncated(std::int64_t* sum, const float* x, double factor, double limit, std::int64_t count);
/// Adds deviation times standard normals, and rounds to the public grid s·2⁻²⁰, s the deviation: beyond it the low bits
/// of a double could tell about the sum. Of whole numbers each counts `step`.
void noise_and_round(const std::int64_t* sum, double step, const double* noise, float* out, std::int64_t count,
                     double deviation);
void noise_and_round(const double* sum, const double* noise, double* out, std::int64_t count, double deviation);
/// from −= factor·x.
void subtract_multiple(double* from, const double* x, double factor, std::int64_t count);

}  // namespace rldp::privacy::detail
