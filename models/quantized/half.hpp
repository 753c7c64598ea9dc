#pragma once
// float16 and bfloat16 as bits, in loops that vectorise and know no processor's own instruction for it.
#include <bit>
#include <cstdint>
#include <cstring>

namespace rldp::models {

/// Exact. Needs no subnormal float32, which a processor may have been told to take for 0.
inline float from_half(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16, rest = (half & 0x7fffU) << 13, exponent = rest & 0x0f800000U;
    const std::uint32_t normal = rest + ((127U - 15U) << 23);
    const std::uint32_t special = rest | 0x7f800000U;  // infinity, and NaN with its payload
    // 2^-14 + rest, less 2^-14: the subnormal ones.
    const float small = std::bit_cast<float>(rest + (113U << 23)) - std::bit_cast<float>(113U << 23);
    const std::uint32_t size = exponent == 0             ? std::bit_cast<std::uint32_t>(small)
                               : exponent == 0x0f800000U ? special
                                                         : normal;
    return std::bit_cast<float>(sign | size);
}

/// To the nearest, of two the even one; what is too large becomes infinity.
inline std::uint16_t to_half(float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const std::uint32_t size = bits & 0x7fffffffU;
    std::uint32_t half = 0;
    if (size > 0x7f800000U) {
        half = 0x7e00U | (size >> 13 & 0x03ffU);
    } else if (size >= 0x477ff000U) {  // 65520 and more
        half = 0x7c00U;
    } else if (size < 0x38800000U) {  // below 2^-14: what adding 0.5 leaves in float32's last bits
        half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
    } else {
        half = (size - ((127U - 15U) << 23) + 0xfffU + (size >> 13 & 1U)) >> 13;
    }
    return static_cast<std::uint16_t>(sign | half);
}

inline float from_bfloat(std::uint16_t number) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(number) << 16);
}

/// To the nearest, of two the even one; a NaN stays one.
inline std::uint16_t to_bfloat(float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
    return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

/// A number at any alignment. The machine is little-endian, as the files are.
template <class Number>
Number read_as(const std::uint8_t* bytes) {
    static_assert(std::endian::native == std::endian::little);
    Number out;
    std::memcpy(&out, bytes, sizeof out);
    return out;
}

template <class Number>
void write_as(Number number, std::uint8_t* bytes) {
    std::memcpy(bytes, &number, sizeof number);
}

}  // namespace rldp::models
