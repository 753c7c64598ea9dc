#pragma once
// A model with its adapter as decoding multiplies by it.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "models/architecture/model_config.hpp"
#include "models/causal_lm.hpp"
#include "models/kernels/decoding.hpp"
#include "models/lora/layout.hpp"

namespace rldp::models {

/// In float32 on the CPU, whatever the base is stored in, with W + (alpha/r)·BA for W. Any number of threads may read.
struct decoding_model {
    /// x·matrixᵀ + offsets, of one linear module or of several whose outputs stand side by side.
    struct product {
        panel_matrix matrix;
        at::Tensor offsets;  ///< [rows]; undefined where there are none
    };
    /// Without an offset the root of the mean square is the norm. Undefined where the family has none there.
    struct norm {
        at::Tensor gain, offset;  ///< [width]
        explicit operator bool() const { return gain.defined(); }
    };
    struct layer {
        norm before_attention, after_attention, before_mlp, after_mlp, q_norm, k_norm;
        product qkv, o;
        product into_mlp;  ///< gate and up, or fc
        product out_of_mlp;
        float scale = 1, cap = 0;            ///< of scores; no cap: 0
        std::optional<std::int64_t> window;  ///< keys that a query sees
        bool slides = false;                 ///< rotates as layers do that slide
    };

    /// Of numbers up to this the panels are held; of larger models they are read from the base with each product, by
    /// which nothing comes out otherwise.
    static constexpr std::int64_t most_held = std::int64_t{1} << 30;

    /// `layout` and `adapter` are both null where there is no adapter; they are not kept. Errors: bad_input for an
    /// adapter that is not finite in float32.
    decoding_model(std::shared_ptr<const causal_lm> base, const lora_layout* layout, const at::Tensor* adapter,
                   std::int64_t most_numbers_held = most_held);

    model_config config;
    weight_matrix embedding;
    at::Tensor places;          ///< learnt positions, [window, width]; undefined for rotary ones
    float embedding_scale = 1;  ///< of its rows
    std::vector<layer> layers;
    norm last;
    panel_matrix head;
    decoded_activation activation = decoded_activation::silu;
    bool gated = true;                            ///< the MLP's activation is multiplied by up's output
    at::Tensor frequencies, sliding_frequencies;  ///< of rotations; undefined without
};

}  // namespace rldp::models
