#pragma once
// What differs between the LibTorch releases that are supported, 1.13 to 2.14.
#include <ATen/ATen.h>
#include <torch/version.h>

// Fused attention came with 2.0.
#define RLDP_FUSED_ATTENTION (TORCH_VERSION_MAJOR >= 2)

namespace rldp::models::compat {

#if RLDP_FUSED_ATTENTION
/// q [b, H, T, d], k and v [b, K, T, d] with K dividing H; `mask` is undefined for plain causal attention.
inline at::Tensor fused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const at::Tensor& mask) {
    const std::int64_t repeats = q.size(1) / k.size(1);
    const auto spread = [repeats](const at::Tensor& t) { return repeats == 1 ? t : t.repeat_interleave(repeats, 1); };
    if (mask.defined()) return at::scaled_dot_product_attention(q, spread(k), spread(v), mask, 0.0, false);
    return at::scaled_dot_product_attention(q, spread(k), spread(v), {}, 0.0, true);
}
#endif

}  // namespace rldp::models::compat
