#pragma once
// Unit gradients of whole tensors, [units, D] of them, kept as factors: bounds of their norms without multiplying them
// out (ghost clipping: Li et al. 2021; Bu et al. 2022), and the numbers themselves, a few rows of one unit at a time.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "models/whole/backward_cache.hpp"
#include "models/whole/whole_tensors.hpp"

namespace rldp::models {

class factored_gradients {
  public:
    /// One page for each tensor.
    factored_gradients(std::vector<trained_tensor> tensors, std::vector<backward_factors> pages, std::int64_t units);

    std::int64_t units() const { return units_; }
    const std::vector<trained_tensor>& tensors() const { return tensors_; }

    /// Of each tensor's gradient, [units, tensors] float64 on the CPU. What each() shows is at most so long, whatever
    /// order its sums are taken in (docs/privacy.md §12); not finite where the gradient is not, or hardly is.
    at::Tensor norm_bounds() const;

    /// Calls `see` with coordinates of a unit's flat gradient, float32 [n], contiguous, from `offset` on and within one
    /// tensor. What it never shows is zero. Only of units that are wanted; `numbers` is overwritten afterwards.
    using viewer = std::function<void(std::int64_t unit, std::int64_t offset, const at::Tensor& numbers)>;
    void each(const std::vector<bool>& wanted, const viewer& see) const;

  private:
    std::vector<trained_tensor> tensors_;
    std::vector<backward_factors> pages_;
    std::int64_t units_;
};

}  // namespace rldp::models
