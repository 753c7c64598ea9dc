#pragma once
// A learner's tensors in a checkpoint of the controller: raw bytes, read back into tensors of the sizes that the
// configuration gives.
#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>

#include "models/adamw.hpp"

namespace rldp::rl {

nlohmann::json::binary_t to_bytes(const at::Tensor& tensor);
/// A tensor like `pattern`. Errors: bad_input where the bytes are not as many as its own.
at::Tensor tensor_from(const nlohmann::json& stored, const at::Tensor& pattern);

nlohmann::json stored(const models::adamw::state& state);
/// Of as many numbers as `pattern`. Errors: likewise.
models::adamw::state restored(const nlohmann::json& from, const at::Tensor& pattern);

}  // namespace rldp::rl
