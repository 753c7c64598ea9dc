#pragma once
// trusted/trace.safetensors: the sum of a run's releases, for the audit of a run that is over.
#include <ATen/core/Tensor.h>

#include <filesystem>

namespace rldp::actors {

/// `trace`: float64 or float32 [D].
void write_trace(const std::filesystem::path& path, const at::Tensor& trace);
/// Errors: bad_input naming the file, also where its checksum is not that of its bytes.
at::Tensor read_trace(const std::filesystem::path& path);

}  // namespace rldp::actors
