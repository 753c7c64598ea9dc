#pragma once
// Which tensors of a base are trained whole, instead of adapters on its modules, and where they lie in the flat vector.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rldp::models {

struct model_config;

struct trained_tensor {
    std::string name;    ///< as in the checkpoint: "transformer.h.0.attn.c_attn.weight"
    std::string module;  ///< the same without ".weight" or ".bias": tensors of one module follow each other
    std::vector<std::int64_t> shape;  ///< of one or two dimensions, row-major in the flat vector
    std::int64_t offset = 0;          ///< in the flat vector
    std::int64_t size = 0;
};

/// Tensors in the checkpoint's order, contiguous, without gaps, starting at offset 0. `wanted` are "all", "bias" (every
/// bias), "norm", "embedding" (of tokens and positions; a tied head is the same tensor), roles (q, o, fc, …), full or
/// last module names, or regular expressions for a module's whole name. Errors: bad_input naming train.parameters for a
/// word that matches nothing, or only a part of a fused module.
std::vector<trained_tensor> choose_trained_tensors(const model_config& model, const std::vector<std::string>& wanted);

/// The same numbers in one vector, float32 [D].
at::Tensor flatten_tensors(const std::vector<trained_tensor>& tensors,
                           const std::map<std::string, at::Tensor>& weights);
/// A tensor's part of a flat vector: a view.
at::Tensor view_part(const at::Tensor& flat, const trained_tensor& tensor);

}  // namespace rldp::models
