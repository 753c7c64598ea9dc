#pragma once
// What differs between the LibTorch releases that are supported, 1.13 to 2.14.
#include <ATen/ATen.h>
#include <torch/version.h>

#include <cstdlib>
#include <optional>
#include <vector>

// Fused attention came with 2.0.
#define RLDP_FUSED_ATTENTION (TORCH_VERSION_MAJOR >= 2)

// Grouped heads in fused attention came with 2.5.
#define RLDP_GROUPED_ATTENTION (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5))
// Filling fresh memory, so that what reads it too early is told, came with 2.2.
#define RLDP_FILLS_MEMORY (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2))

namespace rldp::models::compat {

/// Of the whole process: operators of a CUDA device that add in no fixed order are replaced, or throw where LibTorch
/// has none that does. cuBLAS reads its variable when it starts; what the user says there wins.
inline void use_deterministic_algorithms() {
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
#if RLDP_FILLS_MEMORY
    at::globalContext().setDeterministicFillUninitializedMemory(false);
#endif
}

/// What `attend` (q, k and v of as many heads, [b, heads, T, d]) makes of q [b, H, T, d] and k, v [b, K, T, d], with K
/// dividing H: a call for each of the H/K queries that share a key's head, so that no key is repeated.
template <class Attend>
at::Tensor attend_by_group(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Attend& attend) {
    const std::int64_t heads = k.size(1), group = q.size(1) / heads;
    const auto queries = q.unflatten(1, {heads, group});
    std::vector<at::Tensor> parts;
    for (std::int64_t g = 0; g < group; ++g) parts.push_back(attend(queries.select(2, g), k, v).transpose(1, 2));
    return at::stack(parts, 3).flatten(2, 3).transpose(1, 2);  // memory in the order of [b, T, H, d]
}

#if RLDP_FUSED_ATTENTION
/// q [b, H, T, d], k and v [b, K, T, d] with K dividing H; `mask` is undefined for plain causal attention.
inline at::Tensor fused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const at::Tensor& mask) {
    const auto attend = [&](const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
        return mask.defined() ? at::scaled_dot_product_attention(queries, keys, values, mask, 0.0, false)
                              : at::scaled_dot_product_attention(queries, keys, values, {}, 0.0, true);
    };
    const std::int64_t repeats = q.size(1) / k.size(1);
    if (repeats == 1) return attend(q, k, v);
    if (q.is_cpu()) return attend(q, k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1));
#if RLDP_GROUPED_ATTENTION
    // Flash attention reads shared keys where they lie; it takes no mask and no float32.
    if (!mask.defined() && q.scalar_type() == at::kBFloat16)
        return at::scaled_dot_product_attention(q, k, v, {}, 0.0, true, std::nullopt, /*enable_gqa=*/true);
#endif
    return attend_by_group(q, k, v, attend);
}
#endif

}  // namespace rldp::models::compat
