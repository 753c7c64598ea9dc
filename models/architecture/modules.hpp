#pragma once
// The linear modules of each supported family, by name, role and shape.
#include <cstdint>
#include <string>
#include <vector>

#include "models/architecture/model_config.hpp"

namespace rldp::models {

struct linear_module {
    std::string name;  ///< as Hugging Face calls it, without `.weight`
    std::string role;  ///< q, k, v, o, gate, up, down, fc, proj; of a fused one its last name: c_attn, qkv_proj
    std::int64_t d_in, d_out;
    std::string inside;          ///< the module that it is a part of (GPT-2's c_attn, Phi-3's qkv_proj), else empty
    std::int64_t first_row = 0;  ///< of its outputs within `inside`
};

/// The modules of one block, in the order in which the block applies them.
std::vector<linear_module> block_modules(const model_config& model, std::int64_t layer);

/// Last names of a block's modules, for messages: "q_proj, k_proj, …".
std::string linear_names(const model_config& model);

/// The last part of a dotted name.
std::string last_name(const std::string& module);

/// Names and shapes of every tensor of the base, as in its checkpoint (GPT-2 with `transformer.`).
std::vector<std::pair<std::string, std::vector<std::int64_t>>> base_tensors(const model_config& model);

}  // namespace rldp::models
