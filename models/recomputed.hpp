#pragma once
// Memory for time: a part of a model of which the backward pass computes again what it needs.
#include <ATen/core/Tensor.h>

#include <functional>

namespace rldp::models {

/// block(x), keeping nothing but x for the backward pass, which calls `block` once more (Chen et al. 2016, "Training
/// deep nets with sublinear memory cost"): it must give the same. Differentiable in x.
at::Tensor recomputed(std::function<at::Tensor(const at::Tensor& x)> block, const at::Tensor& x);

}  // namespace rldp::models
