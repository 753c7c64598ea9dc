#pragma once
// Causal attention of narrow heads on the CPU, where a product of a BLAS spends more on packing a head than on the
// head. As in FlashAttention (Dao et al., arXiv:2205.14135) no score outlives its row: the backward pass computes them
// again.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace rldp::models {

/// Whether attend_narrow() takes them: float32 on the CPU, heads of 8, 16, 24 or 32.
bool is_narrow(const at::Tensor& q);

/// As attend() with that window and scale and without a cap, each value the same whatever the batch and the padding;
/// differentiable once.
at::Tensor attend_narrow(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         std::optional<std::int64_t> window, double scale);

}  // namespace rldp::models
