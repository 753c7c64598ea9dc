#include "models/quantized/dequantize.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/processor_clones.hpp"
#include "models/quantized/half.hpp"

namespace rldp::models {

namespace {

// Inlined into every clone, so that it is compiled for its instructions.
#define RLDP_INLINED inline __attribute__((always_inline))

constexpr std::int64_t small_block = 32, large_block = 256, nf4_block = 64;

constexpr std::array<float, 16> nf4_table = {-1.0F,
                                             -0.6961928009986877F,
                                             -0.5250730514526367F,
                                             -0.39491748809814453F,
                                             -0.28444138169288635F,
                                             -0.18477343022823334F,
                                             -0.09105003625154495F,
                                             0.0F,
                                             0.07958029955625534F,
                                             0.16093020141124725F,
                                             0.24611230194568634F,
                                             0.33791524171829224F,
                                             0.44070982933044434F,
                                             0.5626170039176941F,
                                             0.7229568362236023F,
                                             1.0F};

struct nf4_pair {
    float first, second;
};

/// Of each byte the two numbers that it stands for: one look for both.
constexpr std::array<nf4_pair, 256> nf4_pairs = [] {
    std::array<nf4_pair, 256> out{};
    for (std::size_t byte = 0; byte < out.size(); ++byte) out[byte] = {nf4_table[byte >> 4], nf4_table[byte & 15]};
    return out;
}();

RLDP_INLINED float half_at(const std::uint8_t* bytes) {
    return from_half(read_as<std::uint16_t>(bytes));
}

/// Low nibbles first, each less `middle`, times the scale, and the least value added where there is one.
template <bool HasLeast>
RLDP_INLINED void spread_nibbles(const std::uint8_t* q, float scale, std::int32_t middle, float least, float* out) {
    for (int i = 0; i < 16; ++i) {
        const float low = scale * static_cast<float>((q[i] & 15) - middle);
        const float high = scale * static_cast<float>((q[i] >> 4) - middle);
        out[i] = HasLeast ? low + least : low;
        out[16 + i] = HasLeast ? high + least : high;
    }
}

template <bool HasLeast>
RLDP_INLINED void spread_five_bits(const std::uint8_t* q, std::uint32_t fifth, float scale, std::int32_t middle,
                                   float least, float* out) {
    for (std::uint32_t i = 0; i < 16; ++i) {
        const auto low = static_cast<std::int32_t>((q[i] & 15U) | (fifth >> i & 1U) << 4) - middle;
        const auto high = static_cast<std::int32_t>(q[i] >> 4 | (fifth >> (i + 16) & 1U) << 4) - middle;
        const float first = scale * static_cast<float>(low), second = scale * static_cast<float>(high);
        out[i] = HasLeast ? first + least : first;
        out[16 + i] = HasLeast ? second + least : second;
    }
}

/// Scale and least value of the j-th 32 of a block of 256: 6 bits each, of the last four two of them elsewhere.
struct six_bits {
    std::uint32_t scale, least;
};
RLDP_INLINED six_bits six_bits_at(const std::uint8_t* packed, int j) {
    if (j < 4) return {packed[j] & 63U, packed[j + 4] & 63U};
    const std::uint32_t low = packed[j + 4], upper_scale = packed[j - 4], upper_least = packed[j];
    return {(low & 15U) | (upper_scale >> 6) << 4, low >> 4 | (upper_least >> 6) << 4};
}

RLDP_INLINED void spread_nf4(const std::uint8_t* q, float scale, float* out) {
    for (std::ptrdiff_t i = 0; i < 32; ++i) std::memcpy(out + 2 * i, &nf4_pairs[q[i]], sizeof(nf4_pair));
    for (int i = 0; i < 64; ++i) out[i] *= scale;
}

RLDP_CLONES void spread_f16(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (std::int64_t i = 0; i < columns; ++i) out[i] = half_at(row + 2 * i);
}

RLDP_CLONES void spread_bf16(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (std::int64_t i = 0; i < columns; ++i) out[i] = from_bfloat(read_as<std::uint16_t>(row + 2 * i));
}

RLDP_CLONES void spread_q4_0(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= small_block, row += 18, out += small_block)
        spread_nibbles<false>(row + 2, half_at(row), 8, 0, out);
}

RLDP_CLONES void spread_q4_1(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= small_block, row += 20, out += small_block)
        spread_nibbles<true>(row + 4, half_at(row), 0, half_at(row + 2), out);
}

RLDP_CLONES void spread_q5_0(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= small_block, row += 22, out += small_block)
        spread_five_bits<false>(row + 6, read_as<std::uint32_t>(row + 2), half_at(row), 16, 0, out);
}

RLDP_CLONES void spread_q5_1(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= small_block, row += 24, out += small_block)
        spread_five_bits<true>(row + 8, read_as<std::uint32_t>(row + 4), half_at(row), 0, half_at(row + 2), out);
}

RLDP_CLONES void spread_q8_0(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= small_block, row += 34, out += small_block) {
        const float scale = half_at(row);
        for (int i = 0; i < small_block; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(row[2 + i])) * scale;
    }
}

RLDP_CLONES void spread_q4_k(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= large_block, row += 144, out += large_block)
        for (int j = 0; j < 8; ++j) {
            const auto [s, t] = six_bits_at(row + 4, j);
            const float scale = half_at(row) * static_cast<float>(s), least = half_at(row + 2) * static_cast<float>(t);
            const auto* q = row + 16 + std::ptrdiff_t{32} * (j / 2);
            for (int i = 0; i < 32; ++i) out[32 * j + i] = scale * static_cast<float>(q[i] >> 4 * (j % 2) & 15) - least;
        }
}

RLDP_CLONES void spread_q5_k(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= large_block, row += 176, out += large_block)
        for (int j = 0; j < 8; ++j) {
            const auto [s, t] = six_bits_at(row + 4, j);
            const float scale = half_at(row) * static_cast<float>(s), least = half_at(row + 2) * static_cast<float>(t);
            const auto *fifth = row + 16, *q = row + 48 + std::ptrdiff_t{32} * (j / 2);
            for (int i = 0; i < 32; ++i)
                out[32 * j + i] =
                    scale * static_cast<float>((q[i] >> 4 * (j % 2) & 15) | (fifth[i] >> j & 1) << 4) - least;
        }
}

RLDP_CLONES void spread_q6_k(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= large_block, row += 210, out += large_block)
        for (int j = 0; j < 16; ++j) {  // 16 numbers with a scale; four runs of 32 for each half of the bytes
            const int run = j / 2, half = run / 4, within = run % 4, first = 16 * (j % 2);
            const float scale = half_at(row + 208) * static_cast<float>(static_cast<std::int8_t>(row[192 + j]));
            const auto* low = row + std::ptrdiff_t{64} * half + std::ptrdiff_t{32} * (within % 2) + first;
            const auto* high = row + 128 + std::ptrdiff_t{32} * half + first;
            for (int i = 0; i < 16; ++i) {
                const int q = (low[i] >> 4 * (within / 2) & 15) | (high[i] >> 2 * within & 3) << 4;
                out[16 * j + i] = scale * static_cast<float>(q - 32);
            }
        }
}

RLDP_CLONES void spread_nf4_nested(const std::uint8_t* row, std::int64_t columns, float* out, const nested_scales& by,
                                   std::int64_t first_block) {
    const float* groups = by.absmax.data();
    for (auto block = first_block; columns > 0; ++block, columns -= nf4_block, row += 33, out += nf4_block) {
        const float scale = by.map[row[0]] * groups[block / nested_scales::blocks] + by.offset;
        spread_nf4(row + 1, scale, out);
    }
}

RLDP_CLONES void spread_nf4_single(const std::uint8_t* row, std::int64_t columns, float* out) {
    for (; columns > 0; columns -= nf4_block, row += 36, out += nf4_block)
        spread_nf4(row + 4, read_as<float>(row), out);
}

RLDP_CLONES void spread_int8(const std::uint8_t* row, std::int64_t columns, float* out) {
    constexpr float per_unit = 7.874015718698502e-3F;  // 1 / 127, as bitsandbytes writes it
    const float greatest = read_as<float>(row);
    for (std::int64_t i = 0; i < columns; ++i)
        out[i] = static_cast<float>(static_cast<std::int8_t>(row[4 + i])) * greatest * per_unit;
}

}  // namespace

const std::array<float, 16>& nf4_numbers() {
    return nf4_table;
}

void dequantize_row(block_type type, const std::uint8_t* row, std::int64_t columns, float* out,
                    const nested_scales* scales, std::int64_t first_block) {
    switch (type) {
        case block_type::f32:
            std::memcpy(out, row, static_cast<std::size_t>(columns) * sizeof(float));
            return;
        case block_type::f16:
            return spread_f16(row, columns, out);
        case block_type::bf16:
            return spread_bf16(row, columns, out);
        case block_type::q4_0:
            return spread_q4_0(row, columns, out);
        case block_type::q4_1:
            return spread_q4_1(row, columns, out);
        case block_type::q5_0:
            return spread_q5_0(row, columns, out);
        case block_type::q5_1:
            return spread_q5_1(row, columns, out);
        case block_type::q8_0:
            return spread_q8_0(row, columns, out);
        case block_type::q4_k:
            return spread_q4_k(row, columns, out);
        case block_type::q5_k:
            return spread_q5_k(row, columns, out);
        case block_type::q6_k:
            return spread_q6_k(row, columns, out);
        case block_type::nf4:
            require(scales != nullptr, "rows of nf4 need the scales of their scales");
            return spread_nf4_nested(row, columns, out, *scales, first_block);
        case block_type::nf4_single:
            return spread_nf4_single(row, columns, out);
        case block_type::int8:
            return spread_int8(row, columns, out);
    }
    bug("a block format that nothing reads");
}

}  // namespace rldp::models
