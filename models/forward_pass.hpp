#pragma once
// What the blocks of one forward pass share.
#include <ATen/core/Tensor.h>

#include "models/attention_memory.hpp"
#include "models/functions.hpp"
#include "models/lora/adaptation.hpp"

namespace rldp::models {

struct forward_pass {
    std::int64_t batch, length;  ///< b and T of the ids [b, T]; hidden states are [b·T, width]
    const adaptation& adapter;
    at::Tensor mask;                     ///< additive [T, T]; undefined where fused attention is plainly causal
    rotation positions = {};             ///< of a model with rotary positions
    attention_memory* memory = nullptr;  ///< of a generation

    /// attend(), which with a memory keeps keys and values, and sees those it has.
    at::Tensor attend(std::size_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      std::optional<std::int64_t> window) const;
};

}  // namespace rldp::models
