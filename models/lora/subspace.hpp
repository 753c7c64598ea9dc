#pragma once
// Training an adapter in coordinates that public gradients gave: along a few directions, so that noise enters those
// alone (Yu et al. 2021), or along all of them, but on scales in which noise lies where the loss feels it least (Li et
// al. 2022, "Private Adaptive Optimization with Side Information").
#include <optional>
#include <vector>

#include "models/lora/layout.hpp"

namespace rldp::models {

/// Of one pair, orthogonal columns [d_in, k], [d_out, k']; `in` is undefined where A is frozen.
struct pair_directions {
    at::Tensor in, out;
};

/// A layout whose zero vector is that adapter, and which moves from there along the directions alone.
lora_layout in_subspace(const lora_layout& layout, const at::Tensor& flat, const std::vector<pair_directions>& along);

/// How many directions each of its matrices has.
std::int64_t most_directions(const lora_pair& pair);

/// The sizes of a layout in a subspace of `count` directions of each matrix; its grounds are not there yet.
lora_layout narrowed(lora_layout layout, std::int64_t count);

/// The same adapter without grounds: every number in its flat vector.
loaded_adapter without_grounds(const lora_layout& layout, const at::Tensor& flat);

/// Along which directions unit gradients are largest, matrix by matrix: the eigenvectors of their second moments.
class main_directions {
  public:
    /// Of gradients in that layout, which has no grounds along directions.
    explicit main_directions(const lora_layout& layout);

    void add(const at::Tensor& unit_gradients);  ///< [b, D]
    /// The `count` largest of each matrix, at most most_directions() of it; or all. Columns have length 1, or where
    /// `scaled` the inverse root of the second moment along them, damped, and 1 in the mean square.
    std::vector<pair_directions> largest(std::optional<std::int64_t> count, bool scaled, at::Device on) const;

  private:
    lora_layout layout_;
    std::vector<pair_directions> moments_;  ///< Σ gᵀg [d_in, d_in] and [d_out, d_out], float32 on the CPU
};

}  // namespace rldp::models
