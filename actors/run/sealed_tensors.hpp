#pragma once
// Tensors and texts in a safetensors file that nobody but this run can have written.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

#include "privacy/keys/seal.hpp"

namespace rldp::actors {

struct sealed_tensors {
    std::map<std::string, at::Tensor> tensors;
    std::map<std::string, std::string> texts;  ///< no key "seal"
};

/// `kind` goes into the seal: a file of another kind is not taken for this one.
void write_sealed(const std::filesystem::path& path, const std::string& kind, sealed_tensors value,
                  const privacy::file_seal& seal);
/// Tensors on the CPU, contiguous. Errors: bad_input naming the path for a file that is missing, damaged, of another
/// run or another kind.
sealed_tensors read_sealed(const std::filesystem::path& path, const std::string& kind, const privacy::file_seal& seal);

}  // namespace rldp::actors
