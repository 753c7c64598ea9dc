#include "privacy/mechanism/kernels.hpp"

#include "privacy/keys/random_clones.hpp"

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

RLDP_CLONES void add_scaled(double* __restrict sum, const float* __restrict x, double factor, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) sum[j] += factor * static_cast<double>(x[j]);
}

}  // namespace rldp::privacy::detail
