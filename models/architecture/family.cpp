#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "models/architecture/family.hpp"

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

namespace {

using shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

void add_norm(shapes& list, const std::string& name, std::int64_t width) {
    list.push_back({name + ".weight", {width}});
    list.push_back({name + ".bias", {width}});
}

shapes gpt2_tensors(const model_config& m) {
    shapes list{{"transformer.wte.weight", {m.vocab, m.width}}, {"transformer.wpe.weight", {m.window, m.width}}};
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
        const auto block = fmt::format("transformer.h.{}.", layer);
        add_norm(list, block + "ln_1", m.width);
        add_norm(list, block + "ln_2", m.width);
        for (const auto& module : block_modules(m, layer)) {
            if (!module.inside.empty()) continue;
            list.push_back({module.name + ".weight", {module.d_in, module.d_out}});  // Conv1D: [in, out]
            list.push_back({module.name + ".bias", {module.d_out}});
        }
    }
    add_norm(list, "transformer.ln_f", m.width);
    return list;
}

shapes decoder_tensors(const model_config& m) {
    const family& f = require_family(m.model_type);
    shapes list{{"model.embed_tokens.weight", {m.vocab, m.width}}, {"model.norm.weight", {m.width}}};
    for (std::int64_t layer = 0; layer < m.layers; ++layer) {
        const auto block = fmt::format("model.layers.{}.", layer);
        const auto gain = [&](const char* name, std::int64_t width) {
            list.push_back({block + name + ".weight", {width}});
        };
        gain("input_layernorm", m.width);
        gain("post_attention_layernorm", m.width);
        if (f.outer_norms) {
            gain("pre_feedforward_layernorm", m.width);
            gain("post_feedforward_layernorm", m.width);
        }
        if (f.head_norms) {
            gain("self_attn.q_norm", m.head_dim);
            gain("self_attn.k_norm", m.head_dim);
        }
        for (const auto& module : block_modules(m, layer)) {
            if (!module.inside.empty()) continue;
            list.push_back({module.name + ".weight", {module.d_out, module.d_in}});
            const bool qkv = module.role == "q" || module.role == "k" || module.role == "v";
            if (f.qkv_bias && qkv) list.push_back({module.name + ".bias", {module.d_out}});
        }
    }
    return list;
}

// q, k and v, or gate and up, as rows of one module: they, then it.
void add_fused(std::vector<linear_module>& modules, const std::string& whole,
               std::initializer_list<linear_module> parts) {
    linear_module owner{whole, last_name(whole), parts.begin()->d_in, 0, ""};
    for (linear_module part : parts) {
        part.inside = whole;
        part.first_row = owner.d_out;
        owner.d_out += part.d_out;
        modules.push_back(std::move(part));
    }
    modules.push_back(std::move(owner));
}

}  // namespace

std::vector<linear_module> block_modules(const model_config& m, std::int64_t layer) {
    if (m.model_type == "gpt2") {
        const auto block = fmt::format("transformer.h.{}.", layer);
        const auto fused = block + "attn.c_attn";
        return {{block + "attn.q_proj", "q", m.width, m.width, fused, 0},
                {block + "attn.k_proj", "k", m.width, m.width, fused, m.width},
                {block + "attn.v_proj", "v", m.width, m.width, fused, 2 * m.width},
                {fused, "c_attn", m.width, 3 * m.width, "", 0},
                {block + "attn.c_proj", "o", m.width, m.width, "", 0},
                {block + "mlp.c_fc", "fc", m.width, m.inner, "", 0},
                {block + "mlp.c_proj", "proj", m.inner, m.width, "", 0}};
    }
    const auto block = fmt::format("model.layers.{}.", layer);
    const std::int64_t queries = m.heads * m.head_dim, keys = m.kv_heads * m.head_dim;
    const linear_module q{block + "self_attn.q_proj", "q", m.width, queries, "", 0},
        k{block + "self_attn.k_proj", "k", m.width, keys, "", 0},
        v{block + "self_attn.v_proj", "v", m.width, keys, "", 0},
        o{block + "self_attn.o_proj", "o", queries, m.width, "", 0},
        gate{block + "mlp.gate_proj", "gate", m.width, m.inner, "", 0},
        up{block + "mlp.up_proj", "up", m.width, m.inner, "", 0},
        down{block + "mlp.down_proj", "down", m.inner, m.width, "", 0};
    if (!require_family(m.model_type).fused_modules) return {q, k, v, o, gate, up, down};
    std::vector<linear_module> modules;
    add_fused(modules, block + "self_attn.qkv_proj", {q, k, v});
    modules.push_back(o);
    add_fused(modules, block + "mlp.gate_up_proj", {gate, up});
    modules.push_back(down);
    return modules;
}

std::string linear_names(const model_config& model) {
    std::string names;
    for (const auto& module : block_modules(model, 0)) names += (names.empty() ? "" : ", ") + last_name(module.name);
    return names;
}

std::set<std::string> list_module_weights(const model_config& model) {
    std::set<std::string> out;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (const auto& module : block_modules(model, layer))
            out.insert((module.inside.empty() ? module.name : module.inside) + ".weight");
    return out;
}

std::string last_name(const std::string& module) {
    return module.substr(module.rfind('.') + 1);
}

shapes base_tensors(const model_config& model) {
    shapes list = model.model_type == "gpt2" ? gpt2_tensors(model) : decoder_tensors(model);
    if (!model.tied_head) list.push_back({"lm_head.weight", {model.vocab, model.width}});
    return list;
}

}  // namespace rldp::models
