#pragma once
// What lies beside a model's tensors.
#include <filesystem>

namespace rldp::models {

/// Copies what makes a directory of Hugging Face's usable beside the tensors, as far as it is there, and nothing else:
/// records may lie beside it. With a head of its own, config.json says so whatever it said before. Errors: those of
/// read_file and write_file.
void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to, bool own_head);

}  // namespace rldp::models
