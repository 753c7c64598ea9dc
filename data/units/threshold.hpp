#pragma once
// Chances decided by uniform words.
#include <cmath>
#include <cstdint>

namespace rldp::data {

/// True with the given probability, to 2⁻⁶⁴ (rounded down), for a uniform word; exact at 0 and 1.
inline bool happens(std::uint64_t word, double probability) {
    if (probability >= 1) return true;
    return word < static_cast<std::uint64_t>(std::ldexp(probability, 64));
}

}  // namespace rldp::data
