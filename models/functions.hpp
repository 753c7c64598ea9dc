#pragma once
// The differentiable pieces of a block that LibTorch lacks or does in too many passes over memory, and what trades time
// for memory.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "models/causal_lm.hpp"

namespace rldp::models {

class backward_cache;

/// How a norm's weight multiplies: rounded to x's type before (Llama) or, 1 + weight, after (Gemma). In float32 there
/// is nothing to round.
enum class gain_rule { weight, one_and_weight };

/// x / rms(x) · gain over the last dimension of x [N, d], weight [d]; differentiable in both. A backward cache in
/// which the weight stands gets its gradient's summands.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon, gain_rule rule = gain_rule::weight,
                    backward_cache* cache = nullptr);

/// c·tanh(x / c), in x's type and differentiable; without a cap x itself.
at::Tensor soft_cap(const at::Tensor& x, std::optional<double> cap);

/// Inverse frequencies [head_dim / 2], float32 on the CPU, scaled as rope_parameters say.
at::Tensor inverse_frequencies(const model_config::rope_parameters& rope, std::int64_t head_dim);

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

/// How a layer's products of queries and keys become scores, and which keys a query sees.
struct attention_rule {
    double scale = 1;                         ///< of products, 1 / √d in most models
    std::optional<double> cap = {};           ///< soft_cap of the scaled products
    std::optional<std::int64_t> window = {};  ///< keys a query sees, itself included; absent: all before it
};
attention_rule make_attention_rule(const model_config& config, std::int64_t layer);

/// Whether attend() needs the mask for T tokens.
bool needs_mask(const attention_rule& rule, std::int64_t length);

/// Queries that attend() takes at a time: fewer would save more products and make them too small.
inline constexpr std::int64_t queries_at_a_time = 128;

/// Causal attention of q [b, T, H, d] over k, v [b, T, K, d], K dividing H; returns [b·T, H·d]. Each query sees itself,
/// so padding on the right gives no NaN and no real position sees it. `mask` is causal_mask of the same window, or
/// undefined where it is not needed.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                  const attention_rule& rule);

// Recomputation. Memory for time: a part of a model of which the backward pass computes again what it needs.

/// block(x), keeping nothing but x for the backward pass, which calls `block` once more (Chen et al. 2016, "Training
/// deep nets with sublinear memory cost"): it must give the same. Differentiable in x.
at::Tensor recomputed(std::function<at::Tensor(const at::Tensor& x)> block, const at::Tensor& x);

}  // namespace rldp::models
