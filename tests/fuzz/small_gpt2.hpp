#pragma once
// The smallest model that files can belong to.
#include "models/causal_lm.hpp"

namespace rldp::fuzz {

inline models::model_config small_gpt2() {
    models::model_config config;
    config.model_type = "gpt2";
    config.vocab = 5;
    config.width = 2;
    config.layers = config.heads = config.kv_heads = 1;
    config.head_dim = 2;
    config.inner = 3;
    config.window = 4;
    config.activation = "gelu_new";
    return config;
}

}  // namespace rldp::fuzz
