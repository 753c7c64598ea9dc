#include "models/kernels/rows.hpp"

#include <cmath>

#include "base/processor_clones.hpp"

namespace rldp::models {

namespace {

/// So many sums at a time, in an order of their own: the compiler may not choose one.
constexpr std::int64_t lanes = 8;

/// Σ term(i).
template <class Term>
float sum_over(std::int64_t width, Term term) {
    float sums[lanes] = {};
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes)
        for (std::int64_t k = 0; k < lanes; ++k) sums[k] += term(i + k);
    float rest = 0;
    for (; i < width; ++i) rest += term(i);
    for (const float sum : sums) rest += sum;
    return rest;
}

}  // namespace

RLDP_CLONES void scale_to_rms(const float* __restrict x, const float* __restrict gain, float epsilon,
                              float* __restrict out, float* __restrict inverse, std::int64_t rows, std::int64_t width) {
    for (std::int64_t row = 0; row < rows; ++row, x += width, out += width) {
        const float squares = sum_over(width, [x](auto i) { return x[i] * x[i]; });
        const float scale = 1 / std::sqrt(squares / static_cast<float>(width) + epsilon);
        inverse[row] = scale;
        for (std::int64_t i = 0; i < width; ++i) out[i] = x[i] * scale * gain[i];
    }
}

// With n = x·inverse and d = g·gain: inverse·(d - n·mean(d·n)).
RLDP_CLONES void scale_to_rms_backward(const float* __restrict g, const float* __restrict x,
                                       const float* __restrict gain, const float* __restrict inverse,
                                       float* __restrict d_x, std::int64_t rows, std::int64_t width) {
    for (std::int64_t row = 0; row < rows; ++row, g += width, x += width, d_x += width) {
        const float scale = inverse[row];
        const float along = sum_over(width, [=](auto i) { return g[i] * gain[i] * x[i]; });
        const float share = along * scale * scale / static_cast<float>(width);
        for (std::int64_t i = 0; i < width; ++i) d_x[i] = (g[i] * gain[i] - x[i] * share) * scale;
    }
}

RLDP_CLONES void turn_heads(const float* __restrict x, const float* __restrict cos, const float* __restrict sin,
                            float sign, float* __restrict out, std::int64_t heads, std::int64_t half) {
    for (std::int64_t head = 0; head < heads; ++head, x += 2 * half, out += 2 * half)
        for (std::int64_t i = 0; i < half; ++i) {
            const float first = x[i], second = x[half + i], across = sign * sin[i];
            out[i] = first * cos[i] - second * across;
            out[half + i] = second * cos[i] + first * across;
        }
}

}  // namespace rldp::models
