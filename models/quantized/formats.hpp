#pragma once
// Formats of a frozen base's numbers: blocks that share a scale, as ggml (GGUF) and bitsandbytes lay them out, and
// plain floats. A row of a matrix is blocks one behind the other; no block crosses a row.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/kinds.hpp"

namespace rldp::models {

/// d, m: float16 scale and least value. Of a block's numbers the first half are the bytes' low nibbles, the second half
/// their high ones, in runs of 32 where a block has 256; nf4's go the other way round, one byte for each two
/// neighbours.
enum class block_type {
    f32,
    f16,
    bf16,
    q4_0,        ///< {d, 16 bytes}: d·(q - 8)
    q4_1,        ///< {d, m, 16 bytes}: d·q + m
    q5_0,        ///< {d, a fifth bit of each, 16 bytes}: d·(q - 16)
    q5_1,        ///< {d, m, a fifth bit of each, 16 bytes}: d·q + m
    q8_0,        ///< {d, 32 signed bytes}: d·q
    q4_k,        ///< {d, m, 8 pairs of 6 bits, 128 bytes}: (d·s)·q - m·t for each 32
    q5_k,        ///< {d, m, 8 pairs of 6 bits, 32 bytes of fifth bits, 128 bytes}: likewise
    q6_k,        ///< {128 bytes, 64 bytes of two more bits, 16 signed scales, d}: (d·s)·(q - 32) for each 16
    nf4,         ///< {a byte that codes the scale, 32 bytes}: NF4's q-th number times the scale (nested_scales)
    nf4_single,  ///< {float32 scale, 32 bytes}
    int8         ///< a whole row is one block, {float32 greatest size, signed bytes}: q·scale / 127
};

/// One row of the table of formats.
struct block_format {
    block_type value;
    std::string_view name;       ///< a configuration's word
    std::int64_t elements;       ///< of a block; 0: as many as a row has
    std::int64_t bytes;          ///< of a block; where it is a row, those beside its numbers, which take one each
    std::int32_t ggml = -1;      ///< ggml_type of GGUF files; below 0: they have none
    bool is_quantizable = true;  ///< quantize_row() can write it
};

}  // namespace rldp::models

namespace rldp {

template <>
struct names<models::block_type> {
    using enum models::block_type;
    static constexpr auto what = "block format";
    static constexpr models::block_format rows[] = {{f32, "f32", 1, 4, 0},
                                                    {f16, "f16", 1, 2, 1},
                                                    {bf16, "bf16", 1, 2, 30},
                                                    {q4_0, "q4_0", 32, 18, 2},
                                                    {q4_1, "q4_1", 32, 20, 3},
                                                    {q5_0, "q5_0", 32, 22, 6, false},
                                                    {q5_1, "q5_1", 32, 24, 7, false},
                                                    {q8_0, "q8_0", 32, 34, 8},
                                                    {q4_k, "q4_k", 256, 144, 12, false},
                                                    {q5_k, "q5_k", 256, 176, 13, false},
                                                    {q6_k, "q6_k", 256, 210, 14, false},
                                                    {nf4, "nf4", 64, 33},
                                                    {nf4_single, "nf4_single", 64, 36},
                                                    {int8, "int8", 0, 4}};
};

}  // namespace rldp

namespace rldp::models {

inline const block_format& format_of(block_type type) {
    for (const auto& row : names<block_type>::rows)
        if (row.value == type) return row;
    bug("a block format without a row");
}

/// Whether a row of so many numbers, 1 or more, is whole blocks.
inline bool fills_blocks(block_type type, std::int64_t columns) {
    const auto& format = format_of(type);
    return columns > 0 && (format.elements == 0 || columns % format.elements == 0);
}

/// Of a row that fills its blocks; below 2^63 where `columns` is below 2^60.
inline std::int64_t count_row_bytes(block_type type, std::int64_t columns) {
    const auto& format = format_of(type);
    return format.elements == 0 ? format.bytes + columns : columns / format.elements * format.bytes;
}

}  // namespace rldp::models
