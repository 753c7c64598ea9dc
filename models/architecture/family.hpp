#pragma once
// The families of models: what tells them apart, and the linear modules and tensors of each.
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/model_config.hpp"

namespace rldp::models {

// Families. What tells those of decoders apart: one row each. What no column says is Llama's.

/// Which layers see no further back than the window.
enum class window_rule {
    none,
    all,
    from_layer,     ///< from max_window_layers on, where use_sliding_window says so
    but_every_nth,  ///< all but the n-th, the 2n-th, …
};

struct family {
    std::string_view model_type;
    std::string_view known_as;      ///< what people call its models
    std::string_view without = {};  ///< which of them are not there

    bool qkv_bias = false;          ///< q, k and v have a bias
    bool fused_modules = false;     ///< q, k and v are rows of one qkv_proj, gate and up of one gate_up_proj
    bool head_norms = false;        ///< each head of q and of k is normed before it is rotated
    bool outer_norms = false;       ///< what attention and the MLP give is normed, too, before it is added
    bool gains_from_one = false;    ///< norms multiply by 1 + weight, and round only afterwards
    bool scaled_embedding = false;  ///< the first hidden state is the embedding's row times √width

    window_rule windows = window_rule::none;
    std::int64_t period = 0;     ///< n of but_every_nth
    bool period_is_key = false;  ///< n is sliding_window_pattern's, where that is given
    bool two_rotations = false;  ///< layers that slide have rotary frequencies of their own
    bool query_scalar = false;   ///< scores are divided by the root of query_pre_attn_scalar, not of head_dim
    bool attention_cap = false;  ///< attn_logit_softcapping is known
    bool final_cap = false;      ///< final_logit_softcapping is known
    std::string_view activation = "silu", activation_key = "hidden_act";

    // What config.json may leave out.
    bool tied_head = false;
    std::int64_t kv_heads = 0;  ///< 0: as many as heads
    std::int64_t head_dim = 0;  ///< 0: hidden_size / heads
    std::int64_t longest = 2048;
    double norm_epsilon = 1e-6;
    double theta = 10000;
    std::optional<std::int64_t> sliding_window = {};
    std::optional<double> attention_cap_if_absent = {}, final_cap_if_absent = {};
};

/// Of decoders.
std::span<const family> families();

/// The decoders and GPT-2, of which the row tells names alone.
std::vector<family> all_families();

/// The row of a model_type, or null; GPT-2 has none.
const family* find_family(std::string_view model_type);

/// The row of a decoder's model_type.
const family& require_family(std::string_view model_type);

// Modules. The linear ones of each supported family, by name, role and shape.

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

/// Names of the linear modules' matrices, or of those that they are parts of.
std::set<std::string> list_module_weights(const model_config& model);

/// The last part of a dotted name.
std::string last_name(const std::string& module);

/// Names and shapes of every tensor of the base, as in its checkpoint (GPT-2 with `transformer.`).
std::vector<std::pair<std::string, std::vector<std::int64_t>>> base_tensors(const model_config& model);

}  // namespace rldp::models
