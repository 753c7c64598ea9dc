#pragma once
// A frozen matrix in one of the block formats: rows that are read as float32, a tile at a time.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "models/quantized/dequantize.hpp"
#include "models/quantized/formats.hpp"

namespace rldp::models {

/// [rows, columns] as Hugging Face has it, a linear module's outputs by its inputs; a vector is one row. Copies share
/// the numbers. Any number of threads may read.
struct quantized_tensor {
    block_type type = block_type::f32;
    std::int64_t rows = 0, columns = 0;
    std::shared_ptr<const void> owner = {};            ///< keeps `bytes`: memory of its own, or a mapped file
    std::span<const std::uint8_t> bytes = {};          ///< rows, one behind the other; at any alignment
    std::shared_ptr<const nested_scales> scales = {};  ///< of nf4 alone

    std::int64_t count_row_bytes() const { return models::count_row_bytes(type, columns); }
    /// Of all that stands for the numbers.
    std::int64_t count_bytes() const;
    /// `count` rows from `first` on into `out`, [count, columns]. Rows lie in the matrix.
    void read_rows(std::int64_t first, std::int64_t count, float* out) const;
    /// The rows of these numbers into `out`, [ids, columns]: what an embedding gives. Each lies in the matrix.
    void read_rows_of(std::span<const std::int64_t> ids, float* out) const;
    /// Whether none of them is NaN or infinity; reads them all.
    bool all_finite() const;
};

/// Errors: a bug where the sizes don't fit each other.
quantized_tensor make_quantized(block_type type, std::int64_t rows, std::int64_t columns,
                                std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes,
                                std::shared_ptr<const nested_scales> scales = {});

/// Bytes to be filled, and their owner.
struct owned_bytes {
    std::shared_ptr<std::uint8_t[]> owner;
    std::span<std::uint8_t> bytes;
};
owned_bytes make_bytes(std::int64_t count);

/// Where row i's numbers lie, [columns], until the next is asked for. They are finite, and no larger than
/// largest_quantizable().
using row_source = std::function<const float*(std::int64_t row)>;

/// Quantizes a matrix whose rows come one by one, in order: nothing but the result is held. Columns fill their blocks.
/// Errors: a bug for a format that can't be written.
quantized_tensor quantize_matrix(block_type type, std::int64_t rows, std::int64_t columns, const row_source& row);

}  // namespace rldp::models
