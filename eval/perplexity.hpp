#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/causal_lm.hpp"

namespace rldp::eval {

/// exp of the mean negative log-likelihood per predicted token over all `sequences`, in batches of similar length of at
/// most `batch` sequences. `adapter` may be null (the base alone).
double perplexity(const models::causal_lm& model, const models::lora_layout* layout, const at::Tensor* adapter,
                  const std::vector<std::vector<std::int32_t>>& sequences, std::int64_t batch);

}  // namespace rldp::eval
