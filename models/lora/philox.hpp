#pragma once
// Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): numbers that are
// found by their place, in any order and on any device. It passes the usual tests of statistics and hides nothing: for
// what need not be secret (docs/privacy.md §6).
#include <array>
#include <cstdint>
#include <utility>

namespace rldp::models::philox {

inline constexpr std::array<std::uint32_t, 2> multipliers{0xD2511F53, 0xCD9E8D57}, key_steps{0x9E3779B9, 0xBB67AE85};
inline constexpr int rounds = 10;

using block = std::array<std::uint32_t, 4>;
using key = std::array<std::uint32_t, 2>;

/// The four words at a counter.
constexpr block at(block x, key k) {
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t p0 = std::uint64_t{multipliers[0]} * x[0], p1 = std::uint64_t{multipliers[1]} * x[2];
        x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k[0], static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k[1], static_cast<std::uint32_t>(p0)};
        k = {k[0] + key_steps[0], k[1] + key_steps[1]};
    }
    return x;
}

/// Bernoulli numbers number `begin` (a multiple of 8) to `end`: 1 where a half-word is `threshold` or more. Number j is
/// half-word j mod 8, low halves first, of the block at {j / 8, c1, c2, c3}, c the counter's upper words.
void at_least(std::uint32_t threshold, std::int64_t begin, std::int64_t end, const std::array<std::uint32_t, 3>& upper,
              key k, bool* out);

}  // namespace rldp::models::philox
