#include "privacy/keys/random_normals.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/processor_clones.hpp"

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

// Coefficients are those of the polynomials that meet the function at Chebyshev's nodes of the interval.

/// −ln u = −k·ln 2 − 2·artanh(s) with u = 2ᵏm, m in [√½, √2), s = (m−1)/(m+1), |s| < 0.1716. artanh(s) = s + s³·tail,
/// tail within 2e-16.
RLDP_INLINE double minus_log(double u) {
    constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd;
    constexpr std::uint64_t mantissa = 0x000fffffffffffff;
    // Adding 1 − √½ in the bits' own order carries into the exponent exactly where m reaches √2.
    const std::uint64_t shifted = std::bit_cast<std::uint64_t>(u) + (0x3ff0000000000000 - root_half);
    const double minus_k = 1023.0 - small_to_double(shifted >> 52);
    const double m = std::bit_cast<double>((shifted & mantissa) + root_half);
    const double s = (m - 1) / (m + 1);
    const double z = s * s;
    double tail = 0x1.2b584aae78a57p-4;
    tail = tail * z + 0x1.39fe606542ddep-4;
    tail = tail * z + 0x1.7462b4ab2ef6bp-4;
    tail = tail * z + 0x1.c71c62e5800a1p-4;
    tail = tail * z + 0x1.2492492df148dp-3;
    tail = tail * z + 0x1.99999999952e2p-3;
    tail = tail * z + 0x1.5555555555558p-2;
    return minus_k * std::numbers::ln2 - 2 * (s + s * (z * tail));
}

/// A point on the unit circle in its eighth: angle 2πu = (π/2)·quadrant + x, |x| ≤ π/4.
struct folded {
    double cosine, sine;     ///< of x
    std::uint64_t quadrant;  ///< modulo 4
};

/// The reduction is exact. cos x = 1 + c·x², sin x = x + s·x³, c and s within 4e-17.
RLDP_INLINE folded fold(double u) {
    const double rounded = 4 * u + 0x1.8p52;  // to the nearest whole number, which then stands in the lowest bits
    const double x = (u - (rounded - 0x1.8p52) * 0.25) * (2 * std::numbers::pi);
    const double y = x * x;
    double c = -0x1.8ff9d439a204ap-37;
    c = c * y + 0x1.1eea7f259b344p-29;
    c = c * y - 0x1.27e4f8e4a2e74p-22;
    c = c * y + 0x1.a01a019de131fp-16;
    c = c * y - 0x1.6c16c16c15d79p-10;
    c = c * y + 0x1.5555555555551p-5;
    c = c * y - 0.5;
    double s = 0x1.5e0b19f8b1451p-33;
    s = s * y - 0x1.ae600b02b6262p-26;
    s = s * y + 0x1.71de37968a100p-19;
    s = s * y - 0x1.a01a019e83aaep-13;
    s = s * y + 0x1.1111111110bb2p-7;
    s = s * y - 0x1.5555555555555p-3;
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
