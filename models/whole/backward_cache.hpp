#pragma once
// What a backward pass leaves of each trained tensor, and the functions that note it: the two factors, position by
// position, whose product is the gradient (book-keeping: Bu et al. 2023). Of a tensor of one dimension it leaves each
// unit's gradient itself.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/kernels/weight_matrix.hpp"

namespace rldp::models {

/// Which rows of a micro-batch are whose: a unit's records follow each other, and so do their positions.
struct unit_rows {
    std::vector<std::int64_t> first_record;  ///< of each unit, then the number of records
    std::int64_t length = 0;                 ///< positions of a record

    std::int64_t units() const { return static_cast<std::int64_t>(first_record.size()) - 1; }
};

/// Rows of one kind: those of unit u are `first[u]` up to `first[u + 1]`.
using row_ranges = std::vector<std::int64_t>;

/// leftᵀ·right, [rows, columns] as the tensor is stored; float32.
struct product_factors {
    at::Tensor left, right;  ///< [N, rows], [N, columns]
    row_ranges first;
};

/// Row ids[i] of the tensor gets right[i].
struct lookup_factors {
    at::Tensor ids, right;  ///< [N] int64, [N, columns] float32
    row_ranges first;
};

struct backward_factors {
    std::optional<product_factors> product;
    std::optional<lookup_factors> lookup;  ///< beside a product where a head is tied to the embedding
    at::Tensor sums;                       ///< [units, size] float32, of tensors of one dimension
};

class backward_cache {
  public:
    /// `trained` in the flat vector's order; the model has to use these very tensors.
    backward_cache(const std::vector<at::Tensor>& trained, unit_rows rows);

    /// Which of the trained tensors this is.
    std::optional<std::size_t> find_index(const at::Tensor& weight) const;
    /// Makes autograd reach functions whose weights are no variables: an empty float32 that asks for a gradient.
    const at::Tensor& anchor() const { return anchor_; }

    /// How many rows of each record go to the head, [records] int64: from then on so many rows in all mean those.
    void set_predictions(const at::Tensor& of_record);

    void add_product(std::size_t tensor, at::Tensor left, at::Tensor right);
    void add_lookup(std::size_t tensor, at::Tensor ids, at::Tensor right);
    /// Sums [N, size] over each unit's positions.
    void add_summands(std::size_t tensor, const at::Tensor& summands);

    const std::vector<backward_factors>& pages() const { return pages_; }

  private:
    row_ranges find_ranges(std::int64_t rows) const;

    std::unordered_map<const void*, std::size_t> index_;
    std::vector<backward_factors> pages_;
    unit_rows rows_;
    row_ranges predictions_;
    at::Tensor anchor_;
};

// Recorded functions. Functions of a block whose backward pass notes in a backward cache what a trained tensor's
// gradient is made of. With no cache, or where the tensor is not trained, they are the plain functions.

/// Rows `ids` [b, T] of a table [V, width].
at::Tensor look_up(const weight_matrix& table, const at::Tensor& ids, backward_cache* cache);

/// Layer norm over the last dimension of x [N, d], gain and offset [d].
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& offset, double epsilon,
                      backward_cache* cache);

}  // namespace rldp::models
