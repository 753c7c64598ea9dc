#pragma once
// LoRA adapters (Hu et al. 2022): y = W x + b + (alpha/r)·B A dropout(x), every trainable number in one flat vector.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "models/whole/whole_tensors.hpp"

namespace rldp::models {

struct model_config;

/// Of adapters in files, too: what adapts parts of a fused module apart is stored as one of their joint rank.
constexpr std::int64_t largest_rank = 4 * limits::largest_rank;

struct lora_config {
    std::int64_t rank = 0;
    double alpha = 0;
    double dropout = 0;
    /// "q", "k", "v", "o", "gate", "up", "down", "fc", "proj": linear modules by role; or full or last module names
    /// (q_proj, c_attn, model.layers.0.self_attn.q_proj). Where q and v are rows of one module (GPT-2's c_attn, Phi-3's
    /// qkv_proj), they adapt those separately.
    std::vector<std::string> targets;
};

/// One adapted linear module. A is [rank, d_in], B is [d_out, rank], both row-major in the flat vector, A before B.
struct lora_pair {
    std::string
        module;  ///< "model.layers.0.self_attn.q_proj", "transformer.h.0.attn.q_proj", "transformer.h.0.attn.c_attn"
    std::int64_t d_in, d_out;
    std::int64_t offset;  ///< in the flat vector
    std::int64_t size;    ///< numbers in the flat vector: rank·(d_in + d_out)
    std::int64_t a_size;  ///< how many of them are A's, the first: rank·d_in
};

/// Where each pair lies in the flat vector of D numbers; pairs are in layer order, contiguous, without gaps. Where
/// tensors of the base are trained whole there are no pairs: the vector holds those tensors.
struct lora_layout {
    lora_config config;
    std::vector<lora_pair> pairs;
    std::int64_t dimension = 0;  ///< D
    std::vector<trained_tensor> tensors = {};
    bool trains_base() const { return !tensors.empty(); }
    double scaling() const { return config.alpha / static_cast<double>(config.rank); }
    at::Tensor a(const at::Tensor& flat, std::size_t pair) const;  ///< [rank, d_in], a view
    at::Tensor b(const at::Tensor& flat, std::size_t pair) const;  ///< [d_out, rank], a view
};

/// Targets with each regular expression (recognised by a character that no name has, such as in
/// `model\.layers\.[01]\..*_proj`) replaced by the modules whose whole name it matches, as PEFT does it. Errors:
/// bad_input for one that is none or matches nothing.
std::vector<std::string> expand_targets(const model_config& model, const std::vector<std::string>& targets);

/// Errors: bad_input for a target that matches no linear module (names those there are).
lora_layout make_layout(const model_config& model, const lora_config& config);

/// Of tensors that are trained whole, as choose_trained_tensors() chooses them.
lora_layout make_tensor_layout(const model_config& model, const std::vector<std::string>& wanted);

/// Kaiming-uniform A (a = √5, as PEFT), zero B; float32 [D] on the CPU from a public seed.
at::Tensor initial_adapter(const lora_layout& layout, std::int64_t seed);

/// PEFT's directory format: adapter_config.json and adapter_model.safetensors, each written atomically. What PEFT can't
/// attach, parts of a fused module, is written as the same adapter of the whole at a multiple of the rank, and read
/// back as it was. Of a quantized base the file's metadata tell the format ("base_quantization").
void save_adapter(const std::filesystem::path& directory, const lora_layout& layout, const at::Tensor& flat,
                  const std::string& base_model, const model_config& model);

struct loaded_adapter {
    lora_layout layout;
    at::Tensor flat;  ///< [D] float32 CPU
};
/// Of the model in `base`, where that is known, for errors: bad_input naming file and key (missing tensor, wrong shape,
/// unsupported option), and both models where the adapter says that it is of another.
loaded_adapter load_adapter(const std::filesystem::path& directory, const model_config& model,
                            const std::filesystem::path& base = {});

/// Dropout of pair `pair` of a micro-batch: bool of the given shape [records, T, d_in], false where an input is
/// dropped; the others are divided by 1 - p (lora_config::dropout). Empty function: no dropout. It gives the
/// same tensor each time.
using dropout_source = std::function<at::Tensor(std::size_t pair, at::IntArrayRef shape)>;

}  // namespace rldp::models
