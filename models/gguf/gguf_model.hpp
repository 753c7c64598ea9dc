#pragma once
// A model that is one GGUF file: its architecture as config.json would tell it, its tensors under Hugging Face's names,
// its chat template.
#include <optional>
#include <string>

#include "models/architecture/model_config.hpp"
#include "models/gguf/gguf_file.hpp"

namespace rldp::models {

/// Of the architectures gpt2, llama (Mistral among them), phi3, qwen2, qwen3, gemma2 and gemma3. Where llama.cpp's
/// converters leave something out it is what llama.cpp takes; Llama 3's frequencies are known again by the tensor
/// rope_freqs.weight. The head is tied where there is no output.weight. eos: what ends a text, and what ends a turn.
/// Errors: bad_input naming file and key; an architecture that is not read, lists those that are; a part of a split
/// model; experts; scaled rotations of other kinds; tensors that are missing, too many or of other shapes than the
/// metadata ask for.
model_config read_gguf_config(const gguf_file& file);

/// The tensor that Hugging Face calls so, one of base_tensors(config). What a converter has changed is changed back:
/// Llama's rows of q and k, in pairs of neighbours in the file, are copied into Hugging Face's order; Gemma's norms,
/// which have 1 added, become float32 without it. All others lie in the file, a
/// GPT-2's modules as [out, in]. Errors: as gguf_file::tensor.
quantized_tensor read_gguf_tensor(const gguf_file& file, const model_config& config, const std::string& name);

/// What the file calls it. A bug for a name that base_tensors() does not give.
std::string to_gguf_name(const model_config& config, const std::string& name);

/// Of a conversation, in Jinja.
std::optional<std::string> find_chat_template(const gguf_file& file);

}  // namespace rldp::models
