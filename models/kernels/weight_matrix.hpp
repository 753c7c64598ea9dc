#pragma once
// A frozen matrix as forward and backward passes multiply by it: numbers, or blocks that are read a tile at a time.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "models/quantized/quantized_tensor.hpp"

namespace rldp::models {

/// Of the tiles, in float32, in which a matrix [rows, columns] in blocks is read: 8 MiB at most, but for rows so long
/// that 128 take more. Narrow tiles make slow products (a third slower at 64 rows of 576), large ones leave the cache.
std::int64_t count_tile_bytes(std::int64_t rows, std::int64_t columns);

/// W [rows, columns]: a linear module's outputs by its inputs, or a vocabulary by its width. Copies share the numbers.
class weight_matrix {
  public:
    weight_matrix() = default;
    explicit weight_matrix(at::Tensor numbers) : numbers_(std::move(numbers)) {}
    /// On the CPU. What a tile holds is rounded to `type`, float32 or bfloat16, in which products are.
    weight_matrix(quantized_tensor blocks, at::ScalarType type);

    std::int64_t rows() const;
    std::int64_t columns() const;
    at::TensorOptions options() const;  ///< of what it is multiplied by
    /// Undefined where it lies in blocks.
    const at::Tensor& numbers() const { return numbers_; }
    /// Nothing where it is of numbers. Of all rows, also of a part.
    const std::optional<quantized_tensor>& blocks() const { return blocks_; }
    bool empty() const { return !blocks_ && !numbers_.defined(); }
    weight_matrix narrow(std::int64_t first_row, std::int64_t rows) const;

    /// x·Wᵀ + offsets for x [N, columns] and, where they are given, offsets [rows]. Autograd sees x where it records.
    at::Tensor apply(const at::Tensor& x, const at::Tensor& offsets = {}) const;
    /// sum [N, rows] += x·Wᵀ; answers sum.
    at::Tensor& apply_onto(at::Tensor& sum, const at::Tensor& x) const;
    /// The way back: g·W for g [N, rows]. Autograd doesn't see it, nor the others.
    at::Tensor pull_back(const at::Tensor& g) const;
    void pull_back_into(at::Tensor& out, const at::Tensor& g) const;
    void pull_back_onto(at::Tensor& sum, const at::Tensor& g) const;
    /// Rows `ids` [...] int64 of blocks, [..., columns].
    at::Tensor look_up(const at::Tensor& ids) const;
    /// Rows [first, first + count) as they are held, in float32, [count, columns].
    void read_rows(std::int64_t first, std::int64_t count, float* out) const;

  private:
    /// Calls use(first, count, tile) with W's rows in order, as numbers. How they are cut depends on W alone.
    template <class Use>
    void for_each_tile(const Use& use) const;

    at::Tensor numbers_;
    std::optional<quantized_tensor> blocks_;
    std::int64_t first_row_ = 0, rows_ = 0;  ///< of the blocks' own
    at::ScalarType type_ = at::kFloat;
};

}  // namespace rldp::models
