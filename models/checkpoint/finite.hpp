#pragma once
#include <ATen/core/Tensor.h>

namespace rldp::models {

/// Whether a tensor of floats on the CPU holds neither NaN nor infinity. One pass at the speed of memory, no temporary.
bool all_finite(const at::Tensor& numbers);

}  // namespace rldp::models
