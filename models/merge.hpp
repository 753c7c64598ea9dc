#pragma once
// An adapter folded into its base: W + (alpha/r)·B A.
#include <filesystem>
#include <map>
#include <string>

#include "models/lora/layout.hpp"

namespace rldp::models {

/// The base's tensors with the adapter added, each in its own dtype; the sum is rounded once.
std::map<std::string, at::Tensor> merged_weights(const model_config& model, std::map<std::string, at::Tensor> weights,
                                                 const loaded_adapter& adapter);

/// Writes base and adapter as a plain Hugging Face checkpoint: config.json, tensors in the base's dtypes and the base's
/// files (one, or shards), and its tokenizer files. One tensor is in memory at a time. `out` appears whole or not at
/// all. Errors: bad_input where `out` exists, or naming file and key of the base or the adapter.
void merge(const std::filesystem::path& base, const std::filesystem::path& adapter, const std::filesystem::path& out);

}  // namespace rldp::models
