#pragma once
// A base model's tensors from a Hugging Face directory: model.safetensors, or the shards that an index names.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "models/causal_lm.hpp"

namespace rldp::models {

/// Exactly the tensors of base_tensors(config), in `dtype` (without it, as they are stored) on `device`: views of the
/// mapped file where these are the file's. Errors: bad_input naming file and tensor (missing, wrong shape, not of
/// floats, NaN or infinity as stored or in `dtype`), or file and key of the index.
std::map<std::string, at::Tensor> load_weights(const std::filesystem::path& directory, const model_config& config,
                                               std::optional<at::ScalarType> dtype, at::Device device);

}  // namespace rldp::models
