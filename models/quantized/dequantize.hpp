#pragma once
// Blocks -> float32, to the bit as the packages gguf 0.19 (of ggml's formats) and bitsandbytes 0.50 (nf4, int8) do it
// on a CPU. Plain loops that vectorise, the same bits on every processor.
#include <array>
#include <cstdint>
#include <vector>

#include "models/quantized/formats.hpp"

namespace rldp::models {

/// The 16 numbers of NF4, in order: quantiles of a normal distribution (Dettmers et al. 2023, appendix E).
const std::array<float, 16>& nf4_numbers();

/// What nf4's scales are made of beside their codes: double quantization (Dettmers et al. 2023, section 3). Blocks are
/// counted over the whole matrix, row by row: the scale of block b is map[code]·absmax[b / 256] + offset.
struct nested_scales {
    static constexpr std::int64_t blocks = 256;  ///< that share an absmax

    std::array<float, 256> map;
    std::vector<float> absmax;
    float offset = 0;
};

/// One row of `columns` numbers, which fill their blocks, into `out`. `row` is count_row_bytes() bytes at any
/// alignment. nf4 alone takes `scales`, which know all its blocks, and the number of the row's first block.
void dequantize_row(block_type type, const std::uint8_t* row, std::int64_t columns, float* out,
                    const nested_scales* scales = nullptr, std::int64_t first_block = 0);

}  // namespace rldp::models
