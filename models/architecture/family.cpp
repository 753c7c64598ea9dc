#include "models/architecture/family.hpp"

#include <algorithm>
#include <string>

#include "config/base/require.hpp"

namespace rldp::models {

namespace {

constexpr family rows[] = {
    // Touvron et al. 2023
    {.model_type = "llama", .known_as = "Llama 1 to 3.2, TinyLlama, SmolLM, …"},
    // Jiang et al. 2023
    {.model_type = "mistral", .known_as = "Mistral", .windows = window_rule::all, .kv_heads = 8, .longest = 131072},
    // Yang et al. 2024, Qwen2 and Qwen2.5
    {.model_type = "qwen2",
     .known_as = "Qwen2, Qwen2.5",
     .without = "multimodal and mixture models",
     .qkv_bias = true,
     .windows = window_rule::from_layer,
     .kv_heads = 32,
     .longest = 32768,
     .sliding_window = 4096},
    // Yang et al. 2025
    {.model_type = "qwen3",
     .known_as = "Qwen3",
     .without = "mixture models",
     .head_norms = true,
     .windows = window_rule::from_layer,
     .kv_heads = 32,
     .head_dim = 128,
     .longest = 32768,
     .sliding_window = 4096},
    // Gemma Team 2024
    {.model_type = "gemma2",
     .known_as = "Gemma 2",
     .outer_norms = true,
     .gains_from_one = true,
     .scaled_embedding = true,
     .windows = window_rule::but_every_nth,
     .period = 2,
     .query_scalar = true,
     .attention_cap = true,
     .final_cap = true,
     .activation = "gelu_new",
     .activation_key = "hidden_activation",
     .tied_head = true,
     .kv_heads = 4,
     .head_dim = 256,
     .longest = 8192,
     .sliding_window = 4096,
     .attention_cap_if_absent = 50,
     .final_cap_if_absent = 30},
    // Gemma Team 2025, the text model
    {.model_type = "gemma3_text",
     .known_as = "Gemma 3 of text alone (1B, and others saved as such)",
     .without = "the nested layout of text and images (gemma3)",
     .head_norms = true,
     .outer_norms = true,
     .gains_from_one = true,
     .scaled_embedding = true,
     .windows = window_rule::but_every_nth,
     .period = 6,
     .period_is_key = true,
     .two_rotations = true,
     .query_scalar = true,
     .final_cap = true,
     .activation = "gelu_new",
     .activation_key = "hidden_activation",
     .tied_head = true,
     .kv_heads = 4,
     .head_dim = 256,
     .longest = 131072,
     .theta = 1e6,
     .sliding_window = 4096},
    // Abdin et al. 2024
    {.model_type = "phi3",
     .known_as = "Phi-3 with 4k",
     .without = "longrope (128k), partial rotation",
     .fused_modules = true,
     .windows = window_rule::all,
     .longest = 4096,
     .norm_epsilon = 1e-5},
};

}  // namespace

std::span<const family> families() {
    return rows;
}

std::vector<family> all_families() {
    std::vector<family> out = {family{.model_type = "gpt2", .known_as = "GPT-2"}};
    out.insert(out.end(), std::begin(rows), std::end(rows));
    return out;
}

const family* find_family(std::string_view model_type) {
    const auto* const found =
        std::find_if(std::begin(rows), std::end(rows), [&](const family& row) { return row.model_type == model_type; });
    return found == std::end(rows) ? nullptr : found;
}

const family& require_family(std::string_view model_type) {
    const auto* const found = find_family(model_type);
    require(found != nullptr, "no decoder is called " + std::string(model_type));
    return *found;
}

}  // namespace rldp::models
