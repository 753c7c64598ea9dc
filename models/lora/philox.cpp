#include "models/lora/philox.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/processor_clones.hpp"

namespace rldp::models::philox {

namespace {

static_assert(std::endian::native == std::endian::little, "the low half of a word comes first");

// Blocks side by side, so that the compiler makes one instruction of them.
constexpr int lanes = 64;

RLDP_CLONES void bits_of_blocks(std::uint32_t threshold, std::uint32_t first, const std::uint32_t* upper,
                                const std::uint32_t* k, std::uint8_t* out) {
    std::uint32_t x0[lanes], x1[lanes], x2[lanes], x3[lanes];
    for (int j = 0; j < lanes; ++j) {
        x0[j] = first + static_cast<std::uint32_t>(j);
        x1[j] = upper[0];
        x2[j] = upper[1];
        x3[j] = upper[2];
    }
    std::uint32_t k0 = k[0], k1 = k[1];
    for (int round = 0; round < rounds; ++round) {
        for (int j = 0; j < lanes; ++j) {
            const std::uint64_t p0 = std::uint64_t{multipliers[0]} * x0[j], p1 = std::uint64_t{multipliers[1]} * x2[j];
            x0[j] = static_cast<std::uint32_t>(p1 >> 32) ^ x1[j] ^ k0;
            x1[j] = static_cast<std::uint32_t>(p1);
            x2[j] = static_cast<std::uint32_t>(p0 >> 32) ^ x3[j] ^ k1;
            x3[j] = static_cast<std::uint32_t>(p0);
        }
        k0 += key_steps[0];
        k1 += key_steps[1];
    }
    std::uint32_t words[4 * lanes];
    for (int j = 0; j < lanes; ++j) {
        words[4 * j] = x0[j];
        words[4 * j + 1] = x1[j];
        words[4 * j + 2] = x2[j];
        words[4 * j + 3] = x3[j];
    }
    for (int j = 0; j < 4 * lanes; ++j) {
        out[2 * j] = (words[j] & 0xffff) >= threshold;
        out[2 * j + 1] = (words[j] >> 16) >= threshold;
    }
}

}  // namespace

void at_least(std::uint32_t threshold, std::int64_t begin, std::int64_t end, const std::array<std::uint32_t, 3>& upper,
              key k, bool* out) {
    static_assert(sizeof(bool) == 1);
    std::array<std::uint8_t, std::size_t{8} * lanes> bits;
    for (auto at = begin; at < end; at += std::ssize(bits)) {
        bits_of_blocks(threshold, static_cast<std::uint32_t>(at / 8), upper.data(), k.data(), bits.data());
        const auto count = std::min<std::int64_t>(std::ssize(bits), end - at);
        std::memcpy(out, bits.data(), static_cast<std::size_t>(count));  // each is 0 or 1, as a bool is
        out += count;
    }
}

}  // namespace rldp::models::philox
