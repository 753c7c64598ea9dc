#pragma once
// float32 -> blocks, to the bit as the packages gguf 0.19 (of ggml's formats) and bitsandbytes 0.50 on a CPU (nf4,
// int8) make them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/quantized/dequantize.hpp"
#include "models/quantized/formats.hpp"

namespace rldp::models {

/// The largest size that quantize_row() takes without overflow: float16 scales end at 65504. Infinity where float32
/// itself is the end.
float largest_quantizable(block_type type);

/// One row of `columns` finite numbers, none larger than largest_quantizable(), into count_row_bytes() bytes. nf4's
/// scales are known once the whole matrix is: its rows are made by nf4_writer. Errors: a bug for a format that can't be
/// written, or columns that don't fill its blocks.
void quantize_row(block_type type, const float* row, std::int64_t columns, std::uint8_t* out);

/// Makes nf4 of a matrix that comes row by row, in order; a scale takes four bytes until all are known. bitsandbytes'
/// mean of scales depends on how torch divides a sum among threads, this one does not: summed in double precision.
class nf4_writer {
  public:
    /// `columns` fill blocks of 64.
    explicit nf4_writer(std::int64_t columns) : columns_(columns) {}

    /// One row into count_row_bytes() bytes, whose scales' codes are missing until finish().
    void write_row(const float* row, std::uint8_t* out);
    /// Writes the codes into all rows, which lie one behind the other from `bytes` on; what those are read by. `offset`
    /// in the place of the mean, for who knows another.
    nested_scales finish(std::uint8_t* bytes, const float* offset = nullptr);

  private:
    std::int64_t columns_;
    std::vector<float> scales_;  ///< of all blocks so far
};

/// bitsandbytes' signed dynamic map of 8 bits (Dettmers 2016): 256 numbers in order, from -0.993 to 1.
const std::array<float, 256>& dynamic_map();

}  // namespace rldp::models
