#pragma once
// A base some of whose tensors were trained whole, as a plain Hugging Face directory.
#include <filesystem>

#include "models/lora/layout.hpp"

namespace rldp::models {

/// The trained tensors in float32, the others as the base stores them, in one file, a tensor in memory at a time;
/// beside it the base's configuration and tokenizer. Each file appears whole or not at all. `flat` [D] float32 on the
/// CPU.
void save_full_model(const std::filesystem::path& base, const lora_layout& layout, const at::Tensor& flat,
                const std::filesystem::path& out);

/// The trained tensors of such a directory, float32 [D]. Errors: bad_input naming file and tensor.
at::Tensor load_trained_tensors(const std::filesystem::path& directory, const model_config& model, const lora_layout& layout);

}  // namespace rldp::models
