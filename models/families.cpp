#include "models/families.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "config/base/require.hpp"

namespace rldp::models {

namespace {

// The module of a role in one block, with its weights.
linear linear_of(const model_config& config, const std::map<std::string, at::Tensor>& weights, std::int64_t layer,
                 const std::string& role) {
    for (const auto& module : block_modules(config, layer)) {
        if (module.role != role) continue;
        const std::string& owner = module.inside.empty() ? module.name : module.inside;
        const auto bias = weights.find(owner + ".bias");
        return {module, weights.at(owner + ".weight"), bias == weights.end() ? at::Tensor() : bias->second,
                config.model_type == "gpt2"};
    }
    bug("no module of role " + role);
}

}  // namespace

std::shared_ptr<const causal_lm> make_family(const model_config& config, std::map<std::string, at::Tensor> weights) {
    if (config.model_type == "gpt2") return std::make_shared<gpt2>(config, std::move(weights));
    return std::make_shared<llama>(config, std::move(weights));
}

// -- GPT-2 (Radford et al. 2019) --

gpt2::gpt2(const model_config& config, std::map<std::string, at::Tensor> weights)
    : causal_lm(config, std::move(weights)), final_(norm_of("transformer.ln_f")) {
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        const auto name = fmt::format("transformer.h.{}.", layer);
        const auto module = [&](const char* role) { return linear_of(config, weights_, layer, role); };
        blocks_.push_back({norm_of(name + "ln_1"), norm_of(name + "ln_2"), module("q"), module("k"), module("v"),
                           module("o"), module("fc"), module("proj")});
    }
}

gpt2::norm gpt2::norm_of(const std::string& name) const {
    return {weights_.at(name + ".weight"), weights_.at(name + ".bias")};
}

at::Tensor gpt2::apply(const norm& by, const at::Tensor& x) const {
    return at::layer_norm(x, {config_.width}, by.weight, by.bias, config_.norm_epsilon);
}

at::Tensor gpt2::embed(const at::Tensor& ids, const at::Tensor& positions) const {
    const auto tokens = at::embedding(weights_.at("transformer.wte.weight"), ids);
    const auto places = at::embedding(weights_.at("transformer.wpe.weight"), positions.to(ids.device()));
    return (tokens + places).view({-1, config_.width});
}

at::Tensor gpt2::block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const {
    const block_weights& w = blocks_[layer];
    const auto heads = [&](const at::Tensor& t) {
        return t.view({pass.batch, pass.length, config_.heads, config_.head_dim});
    };
    const auto qkv = pass.adapter.apply(apply(w.first, x), {&w.q, &w.k, &w.v});
    const auto attended = pass.attend(layer, heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), {});
    const auto y = pass.adapter.add(x, attended, w.o);
    const auto inner = pass.adapter.apply(apply(w.second, y), {&w.fc})[0];
    return pass.adapter.add(y, at::gelu(inner, config_.activation == "gelu_new" ? "tanh" : "none"), w.proj);
}

at::Tensor gpt2::final_norm(const at::Tensor& x) const {
    return apply(final_, x);
}

// -- Llama (Touvron et al. 2023), Mistral (Jiang et al. 2023) --

llama::llama(const model_config& config, std::map<std::string, at::Tensor> weights)
    : causal_lm(config, std::move(weights)), inverse_frequencies_(inverse_frequencies(config)) {
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        const auto name = fmt::format("model.layers.{}.", layer);
        const auto module = [&](const char* role) { return linear_of(config, weights_, layer, role); };
        blocks_.push_back({weights_.at(name + "input_layernorm.weight"),
                           weights_.at(name + "post_attention_layernorm.weight"), module("q"), module("k"), module("v"),
                           module("o"), module("gate"), module("up"), module("down")});
    }
}

at::Tensor llama::embed(const at::Tensor& ids, const at::Tensor&) const {
    return at::embedding(weights_.at("model.embed_tokens.weight"), ids).view({-1, config_.width});
}

rotation llama::rotations_at(const at::Tensor& positions) const {
    const auto& embedding = weights_.at("model.embed_tokens.weight");
    return rotations(inverse_frequencies_, positions, embedding.options().requires_grad(false));
}

at::Tensor llama::block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const {
    const block_weights& w = blocks_[layer];
    const auto heads = [&](const at::Tensor& t) { return t.view({pass.batch, pass.length, -1, config_.head_dim}); };
    const auto qkv = pass.adapter.apply(rms_norm(x, w.first_norm, config_.norm_epsilon), {&w.q, &w.k, &w.v});
    const auto attended = pass.attend(layer, rotate(heads(qkv[0]), pass.positions),
                                      rotate(heads(qkv[1]), pass.positions), heads(qkv[2]), config_.sliding_window);
    const auto y = pass.adapter.add(x, attended, w.o);
    const auto gated = pass.adapter.apply(rms_norm(y, w.second_norm, config_.norm_epsilon), {&w.gate, &w.up});
    return pass.adapter.add(y, at::silu(gated[0]) * gated[1], w.down);
}

at::Tensor llama::final_norm(const at::Tensor& x) const {
    return rms_norm(x, weights_.at("model.norm.weight"), config_.norm_epsilon);
}

}  // namespace rldp::models
