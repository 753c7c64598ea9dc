#pragma once
// Matrices as bitsandbytes leaves them in a Hugging Face directory's safetensors files -> blocks.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/quantized/quantized_tensor.hpp"

namespace rldp::models {

/// A tensor of a safetensors file, as it lies there.
struct stored_tensor {
    std::string_view dtype;  ///< safetensors' word: "U8", "F32", …
    std::vector<std::int64_t> shape;
    std::span<const std::uint8_t> bytes;
    std::string file;  ///< for refusals
};

/// By the name that the files have for it; nothing where they have none.
using stored_finder = std::function<std::optional<stored_tensor>(const std::string& name)>;

/// How the matrix of this name, which ends in ".weight", is quantized; nothing where it is stored as it is:
///   nf4        NAME (bytes), NAME.absmax (bytes), NAME.nested_absmax, NAME.quant_map, NAME.nested_quant_map and
///              NAME.quant_state.bitsandbytes__nf4 (JSON)
///   nf4_single without the nested ones, absmax in float32
///   int8       NAME (signed bytes) and SCB (float32) beside it
/// Errors: bad_input for bitsandbytes' fp4.
std::optional<block_type> find_bitsandbytes(const std::string& name, const stored_finder& find);

/// The same [rows, columns] in blocks; copied once. Errors: bad_input naming file and tensor: another shape, block size
/// or map, sizes that differ, columns that don't fill blocks, scales that are not finite.
quantized_tensor gather_bitsandbytes(const std::string& name, std::int64_t rows, std::int64_t columns,
                                     const stored_finder& find);

}  // namespace rldp::models
