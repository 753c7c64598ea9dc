#include "privacy/mechanism/kernels.hpp"

#include <bit>
#include <cmath>

#include "base/processor_clones.hpp"

namespace rldp::privacy::detail {

RLDP_CLONES double squared_norm(const float* x, std::int64_t count) {
    constexpr std::int64_t lanes =
        32;  // independent sums: as many as keep the adders busy, and a smaller rounding error
    double sums[lanes] = {};
    std::int64_t at = 0;
    for (; at + lanes <= count; at += lanes) {
        for (std::int64_t k = 0; k < lanes; ++k) {
            const double value = x[at + k];
            sums[k] += value * value;
        }
    }
    double rest = 0;
    for (; at < count; ++at) rest += static_cast<double>(x[at]) * x[at];
    for (double sum : sums) rest += sum;
    return rest;
}

RLDP_CLONES void add_truncated(std::int64_t* __restrict sum, const float* __restrict x, double factor, double limit,
                               std::int64_t count) {
    // Beside 1.5·2⁵² a whole number below 2⁵¹ is the difference of the bits: no instruction set lacks that conversion.
    constexpr double beside = 0x1.8p52;
    constexpr auto origin = std::bit_cast<std::int64_t>(beside);
    for (std::int64_t j = 0; j < count; ++j) {
        double product = factor * static_cast<double>(x[j]);
        product = product > limit ? limit : product < -limit ? -limit : product;
        sum[j] += std::bit_cast<std::int64_t>(std::trunc(product) + beside) - origin;
    }
}

namespace {

template <class From, class To>
[[gnu::always_inline]] inline void noised(const From* __restrict sum, double step, const double* __restrict noise,
                                          To* __restrict out, std::int64_t count, double deviation) {
    const double grid = deviation * public_grid;
    for (std::int64_t at = 0; at < count; ++at) {
        const double value = static_cast<double>(sum[at]) * step + deviation * noise[at];
        out[at] = static_cast<To>(std::nearbyint(value / grid) * grid);
    }
}

}  // namespace

RLDP_CLONES void noise_and_round(const std::int64_t* sum, double step, const double* noise, float* out,
                                 std::int64_t count, double deviation) {
    noised(sum, step, noise, out, count, deviation);
}

RLDP_CLONES void noise_and_round(const double* sum, const double* noise, double* out, std::int64_t count,
                                 double deviation) {
    noised(sum, 1, noise, out, count, deviation);
}

RLDP_CLONES void subtract_multiple(double* __restrict from, const double* __restrict x, double factor,
                                   std::int64_t count) {
    for (std::int64_t at = 0; at < count; ++at) from[at] -= factor * x[at];
}

}  // namespace rldp::privacy::detail
