#include "privacy/keys/random_normals.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "config/base/processor_clones.hpp"

#define RLDP_INLINE [[gnu::always_inline]] inline

namespace rldp::privacy::detail {

namespace {

/// Whole numbers below 2⁵² become doubles by arithmetic on bits: AVX2 has no conversion from 64-bit integers.
RLDP_INLINE double small_to_double(std::uint64_t value) {
    return std::bit_cast<double>(value | 0x4330000000000000) - 0x1p52;
}

/// All 53 bits are used: the top 32 and the next 21 are exact apart, and so is their sum.
RLDP_INLINE double uniform(std::uint64_t word) {
    return small_to_double(word >> 32) * 0x1p-32 + small_to_double(((word >> 11) & 0x1fffff) + 1) * 0x1p-53;
}

/// −ln u = −k·ln 2 − 2·artanh(s) with u = 2ᵏm, m in [√½, √2), s = (m−1)/(m+1), |s| < 0.1716. The series is cut after
/// s²¹: the rest is below 2e-18 of the sum.
RLDP_INLINE double minus_log(double u) {
    constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd;
    constexpr std::uint64_t mantissa = 0x000fffffffffffff;
    // Adding 1 − √½ in the bits' own order carries into the exponent exactly where m reaches √2.
    const std::uint64_t shifted = std::bit_cast<std::uint64_t>(u) + (0x3ff0000000000000 - root_half);
    const double minus_k = 1023.0 - small_to_double(shifted >> 52);
    const double m = std::bit_cast<double>((shifted & mantissa) + root_half);
    const double s = (m - 1) / (m + 1);
    const double z = s * s;
    double tail = 1.0 / 21;
    tail = tail * z + 1.0 / 19;
    tail = tail * z + 1.0 / 17;
    tail = tail * z + 1.0 / 15;
    tail = tail * z + 1.0 / 13;
    tail = tail * z + 1.0 / 11;
    tail = tail * z + 1.0 / 9;
    tail = tail * z + 1.0 / 7;
    tail = tail * z + 1.0 / 5;
    tail = tail * z + 1.0 / 3;
    return minus_k * std::numbers::ln2 - 2 * (s + s * (z * tail));
}

/// A point on the unit circle in its eighth: angle 2πu = (π/2)·quadrant + x, |x| ≤ π/4.
struct folded {
    double cosine, sine;     ///< of x
    std::uint64_t quadrant;  ///< modulo 4
};

/// The reduction is exact. Taylor series to x¹⁶ and x¹⁵: the rest is below 1e-16.
RLDP_INLINE folded fold(double u) {
    const double rounded = 4 * u + 0x1.8p52;  // to the nearest whole number, which then stands in the lowest bits
    const double x = (u - (rounded - 0x1.8p52) * 0.25) * (2 * std::numbers::pi);
    const double y = x * x;
    double c = 1.0 / 20922789888000;
    c = c * y - 1.0 / 87178291200;
    c = c * y + 1.0 / 479001600;
    c = c * y - 1.0 / 3628800;
    c = c * y + 1.0 / 40320;
    c = c * y - 1.0 / 720;
    c = c * y + 1.0 / 24;
    c = c * y - 0.5;
    double s = -1.0 / 1307674368000;
    s = s * y + 1.0 / 6227020800;
    s = s * y - 1.0 / 39916800;
    s = s * y + 1.0 / 362880;
    s = s * y - 1.0 / 5040;
    s = s * y + 1.0 / 120;
    s = s * y - 1.0 / 6;
    return {1 + c * y, x + x * (s * y), std::bit_cast<std::uint64_t>(rounded)};
}

RLDP_INLINE double flip_sign(double value, std::uint64_t bit) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (bit << 63));
}

/// Both normals of one Box–Muller pair, added. Over the quadrants (cos, sin) is (c, s), (−s, c), (−c, −s), (s, −c), so
/// the sum needs signs only: ±(r·c ± r·s).
RLDP_INLINE double pair_sum(double u1, double u2) {
    const double r = std::sqrt(2 * minus_log(u1));
    const folded point = fold(u2);
    const double sum = r * point.cosine + flip_sign(r * point.sine, point.quadrant & 1);
    return flip_sign(sum, (point.quadrant >> 1) & 1);
}

}  // namespace

RLDP_CLONES void normal_block(const std::uint64_t* words, double* out) {
    const std::uint64_t* a = words;
    const std::uint64_t* b = a + normals_per_block;
    const std::uint64_t* c = b + normals_per_block;
    const std::uint64_t* d = c + normals_per_block;
    for (std::size_t j = 0; j < normals_per_block; ++j) {
        out[j] = 0.5 * (pair_sum(uniform(a[j]), uniform(b[j])) + pair_sum(uniform(c[j]), uniform(d[j])));
    }
}

}  // namespace rldp::privacy::detail
