#pragma once
// What was trained, as a plain Hugging Face checkpoint: an adapter in its base, or a base with trained tensors.
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "models/lora/layout.hpp"

namespace rldp::models {

// Merging. An adapter folded into its base: W + (alpha/r)·B A.

/// The base's tensors with the adapter added, each in its own dtype; the sum is rounded once.
std::map<std::string, at::Tensor> merged_weights(const model_config& model, std::map<std::string, at::Tensor> weights,
                                                 const loaded_adapter& adapter);

/// Writes base and adapter as a plain Hugging Face checkpoint: config.json, tensors in `dtype` (without it, the base's
/// own) and the base's files (one, or shards), and its tokenizer files. One tensor is in memory at a time. `out`
/// appears whole or not at all. Errors: bad_input where `out` exists, or naming file and key of the base or the
/// adapter; for a quantized base without a dtype.
void merge(const std::filesystem::path& base, const std::filesystem::path& adapter, const std::filesystem::path& out,
           std::optional<at::ScalarType> dtype = {});

// Full models. A base some of whose tensors were trained whole, as a plain Hugging Face directory.

/// The trained tensors in float32, the others as the base stores them, in one file, a tensor in memory at a time;
/// beside it the base's configuration and tokenizer. Each file appears whole or not at all. `flat` [D] float32 on the
/// CPU.
void save_full_model(const std::filesystem::path& base, const lora_layout& layout, const at::Tensor& flat,
                     const std::filesystem::path& out);

/// The trained tensors of such a directory, float32 [D]. Errors: bad_input naming file and tensor.
at::Tensor load_trained_tensors(const std::filesystem::path& directory, const model_config& model,
                                const lora_layout& layout);

}  // namespace rldp::models
