#pragma once
// What lies beside a model's tensors.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace rldp::models {

/// Copies what makes a directory of Hugging Face's usable beside the tensors, as far as it is there, and nothing else:
/// records may lie beside it. What `changes` names config.json says instead; null takes a key away. Errors: those of
/// read_file and write_file.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to,
                     const nlohmann::ordered_json& changes);

}  // namespace rldp::models
