#pragma once
// What the blocks of one forward pass share.
#include <ATen/core/Tensor.h>

#include "models/attention_memory.hpp"
#include "models/functions.hpp"
#include "models/lora/adaptation.hpp"

namespace rldp::models {

/// What layers share that see equally far.
struct layer_kind {
    attention_rule rule;
    at::Tensor mask;          ///< additive [T, T]; undefined where attention does without
    rotation positions = {};  ///< of a model with rotary positions
};

struct forward_pass {
    const model_config& config;
    std::int64_t batch, length;  ///< b and T of the ids [b, T]; hidden states are [b·T, width]
    const adaptation& adapter;
    layer_kind full, sliding;            ///< each only where the model has such layers
    attention_memory* memory = nullptr;  ///< of a generation

    const layer_kind& find_layer_kind(std::size_t layer) const {
        return config.slides(static_cast<std::int64_t>(layer)) ? sliding : full;
    }
    /// attend(), which with a memory keeps keys and values, and sees those it has.
    at::Tensor attend(std::size_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
};

}  // namespace rldp::models
