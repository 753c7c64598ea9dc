#pragma once
// The differentiable pieces of a block that LibTorch lacks or does in too many passes over memory.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "models/causal_lm.hpp"

namespace rldp::models {

/// x / rms(x) · gain over the last dimension; differentiable in both.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain, double epsilon);

/// Inverse frequencies [head_dim / 2], float32 on the CPU, scaled as rope_parameters say.
at::Tensor inverse_frequencies(const model_config& config);

/// Cosine and sine [..., head_dim / 2] of positions [...], which are [T] or, where rows differ, [b, T].
struct rotation {
    at::Tensor cos, sin;
};
rotation rotations(const at::Tensor& inverse_frequencies, const at::Tensor& positions,
                   const at::TensorOptions& options);

/// Rotates x [b, T, H, d] by position; the two halves of a head are the two coordinates.
at::Tensor rotate(const at::Tensor& x, const rotation& by);

/// Additive mask [T, T]: 0 where query i sees key j (i - window < j <= i), else -inf.
at::Tensor causal_mask(std::int64_t length, std::optional<std::int64_t> window, const at::TensorOptions& options);

/// Causal attention of q [b, T, H, d] over k, v [b, T, K, d], K dividing H; returns [b·T, H·d]. Each query sees itself,
/// so padding on the right gives no NaN and no real position sees it. `mask` is causal_mask of the same window; with
/// LibTorch 2 it may be undefined where there is no window.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                  std::optional<std::int64_t> window);

}  // namespace rldp::models
