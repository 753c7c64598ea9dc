#pragma once
// Loops over rows of floats that LibTorch's operators take several passes over memory for. What is said of a row holds
// for each; `rows` of them lie behind each other.
#include <cstdint>

namespace rldp::models {

/// out = x·inverse·gain and inverse [rows] = 1 / √(mean of x² + epsilon); x, out [rows, width], gain [width].
void scale_to_rms(const float* x, const float* gain, float epsilon, float* out, float* inverse, std::int64_t rows,
                  std::int64_t width);

/// The gradient of x [rows, width] from that of out, g.
void scale_to_rms_backward(const float* g, const float* x, const float* gain, const float* inverse, float* d_x,
                           std::int64_t rows, std::int64_t width);

/// Turns the two halves of each of x's heads [heads, 2·half] by one angle for each coordinate, cos and ±sin [half].
void turn_heads(const float* x, const float* cos, const float* sin, float sign, float* out, std::int64_t heads,
                std::int64_t half);

}  // namespace rldp::models
