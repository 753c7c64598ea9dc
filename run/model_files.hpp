#pragma once
// What lies beside a base's weights, in a Hugging Face directory or a GGUF file: its chat template, and what tells
// whether another model is there now.
#include <filesystem>
#include <optional>
#include <string>

#include "data/chat/chat_template.hpp"

namespace rldp::actors {

/// Errors: those of chat_template::read.
std::optional<data::chat_template> read_chat_template(const std::filesystem::path& model);

/// Of the files in a model's directory that loading it reads, but for its weights, or of a GGUF file's header; in hex.
std::string digest_beside_weights(const std::filesystem::path& model);

/// file_facts of the files that hold the weights.
std::string weight_file_facts(const std::filesystem::path& model);

}  // namespace rldp::actors
