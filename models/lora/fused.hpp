#pragma once
// Adapters of parts of a fused module (GPT-2's q, k and v, Phi-3's gate and up), in the only form that PEFT can attach
// to the whole: their A matrices below each other, their B matrices as blocks, at so many times the rank. Logits are
// the same.
#include <map>
#include <string>

#include "models/lora/layout.hpp"

namespace rldp::models {

/// Whether some pair adapts a part of a module that PEFT knows only as a whole.
bool adapts_parts(const lora_layout& layout, const model_config& model);

/// The adapter with whole modules in place of parts. Every pair gets the rank that the most parts of one module need.
loaded_adapter fused(const lora_layout& layout, const at::Tensor& flat, const model_config& model);

/// What the file says beside its tensors about the parts within, and the reverse: `whole` itself where nothing is said,
/// or where the tensors are not such blocks. Errors: bad_input for modules that the model lacks.
std::map<std::string, std::string> describe_parts(const lora_layout& parts);
loaded_adapter unfused(loaded_adapter whole, const std::map<std::string, std::string>& description,
                       const model_config& model);

}  // namespace rldp::models
