#include "models/architecture/modules.hpp"

#include <fmt/format.h>

#include "models/architecture/family.hpp"

namespace rldp::models {

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

std::string last_name(const std::string& module) {
    return module.substr(module.rfind('.') + 1);
}

shapes base_tensors(const model_config& model) {
    shapes list = model.model_type == "gpt2" ? gpt2_tensors(model) : decoder_tensors(model);
    if (!model.tied_head) list.push_back({"lm_head.weight", {model.vocab, model.width}});
    return list;
}

}  // namespace rldp::models
