#pragma once
// What the blocks of one forward pass share.
#include <ATen/core/Tensor.h>

#include "models/adaptation.hpp"
#include "models/functions.hpp"

namespace rldp::models {

struct forward_pass {
    std::int64_t batch, length;  ///< b and T of the ids [b, T]; hidden states are [b·T, width]
    const adaptation& adapter;
    at::Tensor mask;          ///< additive [T, T]; undefined where fused attention is plainly causal
    rotation positions = {};  ///< of a model with rotary positions
};

}  // namespace rldp::models
