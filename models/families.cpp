#include "models/families.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "models/whole/backward_cache.hpp"

namespace rldp::models {

linear find_linear(const model_config& config, const base_weights& weights, std::int64_t layer,
                   const std::string& role) {
    for (const auto& module : block_modules(config, layer)) {
        if (module.role != role) continue;
        const std::string& owner = module.inside.empty() ? module.name : module.inside;
        const auto bias = weights.numbers.find(owner + ".bias");
        linear out{.module = module,
                   .weight = {},
                   .bias = bias == weights.numbers.end() ? at::Tensor() : bias->second,
                   .layer = layer,
                   .source = weights.elsewhere};
        if (weights.holds(out.weight_name())) out.weight = weights.find_matrix(out.weight_name());
        out.conv1d = config.model_type == "gpt2" && !out.weight.blocks();
        return out;
    }
    bug("no module of role " + role);
}

std::shared_ptr<causal_lm> make_family(const model_config& config, base_weights weights) {
    if (config.model_type == "gpt2") return std::make_shared<gpt2>(config, std::move(weights));
    return std::make_shared<decoder>(config, std::move(weights));
}

// -- GPT-2 (Radford et al. 2019) --

gpt2::gpt2(const model_config& config, base_weights weights)
    : causal_lm(config, std::move(weights)), final_(find_norm("transformer.ln_f")) {
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        const auto name = fmt::format("transformer.h.{}.", layer);
        const auto module = [&](const char* role) { return find_linear(config, weights_, layer, role); };
        blocks_.push_back({find_norm(name + "ln_1"), find_norm(name + "ln_2"), module("q"), module("k"), module("v"),
                           module("o"), module("fc"), module("proj")});
    }
}

gpt2::norm gpt2::find_norm(const std::string& name) const {
    return {weights_.numbers.at(name + ".weight"), weights_.numbers.at(name + ".bias")};
}

at::Tensor gpt2::apply(const norm& by, const at::Tensor& x) const {
    return layer_norm(x, by.weight, by.bias, config_.norm_epsilon, backward_cache_);
}

at::Tensor gpt2::embed(const at::Tensor& ids, const at::Tensor& positions) const {
    const auto tokens = look_up(weights_.find_matrix("transformer.wte.weight"), ids, backward_cache_);
    // A unit has its own part in each position's row.
    const auto there = positions.to(ids.device(), /*non_blocking=*/true);
    const auto rows = backward_cache_ ? there.expand(ids.sizes()) : there;
    const auto places = look_up(weights_.find_matrix("transformer.wpe.weight"), rows, backward_cache_);
    return (tokens + places).view({-1, config_.width});
}

at::Tensor gpt2::block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const {
    const block_weights& w = blocks_[layer];
    const auto heads = [&](const at::Tensor& t) {
        return t.view({pass.batch, pass.length, config_.heads, config_.head_dim});
    };
    const auto qkv = pass.adapter.apply(apply(w.first, x), {&w.q, &w.k, &w.v});
    const auto attended = pass.attend(layer, heads(qkv[0]), heads(qkv[1]), heads(qkv[2]));
    const auto y = pass.adapter.add(x, attended, w.o);
    const auto inner = pass.adapter.apply(apply(w.second, y), {&w.fc})[0];
    return pass.adapter.add(y, at::gelu(inner, config_.activation == "gelu_new" ? "tanh" : "none"), w.proj);
}

at::Tensor gpt2::final_norm(const at::Tensor& x) const {
    return apply(final_, x);
}

// -- Llama, and what came of it --

decoder::decoder(const model_config& config, base_weights weights)
    : causal_lm(config, std::move(weights)),
      family_(require_family(config.model_type)),
      frequencies_(inverse_frequencies(config.rope, config.head_dim)),
      sliding_frequencies_(inverse_frequencies(config.sliding_rope.value_or(config.rope), config.head_dim)) {
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        const auto name = fmt::format("model.layers.{}.", layer);
        const auto norm = [&](const char* of) { return weights_.numbers.at(name + of + ".weight"); };
        const auto norm_if = [&](bool there, const char* of) { return there ? norm(of) : at::Tensor(); };
        const auto module = [&](const char* role) { return find_linear(config, weights_, layer, role); };
        // With norms on both sides, that after attention has the name that else is of the one before the MLP.
        const bool outer = family_.outer_norms;
        blocks_.push_back({norm("input_layernorm"), norm_if(outer, "post_attention_layernorm"),
                           norm(outer ? "pre_feedforward_layernorm" : "post_attention_layernorm"),
                           norm_if(outer, "post_feedforward_layernorm"),
                           norm_if(family_.head_norms, "self_attn.q_norm"),
                           norm_if(family_.head_norms, "self_attn.k_norm"), module("q"), module("k"), module("v"),
                           module("o"), module("gate"), module("up"), module("down")});
    }
}

at::Tensor decoder::embed(const at::Tensor& ids, const at::Tensor&) const {
    const auto x =
        look_up(weights_.find_matrix("model.embed_tokens.weight"), ids, backward_cache_).view({-1, config_.width});
    if (!family_.scaled_embedding) return x;
    // Rounded to the embedding's type first, as the reference does it.
    return x * at::scalar_tensor(std::sqrt(static_cast<double>(config_.width)), x.options().requires_grad(false));
}

rotation decoder::rotations_at(const at::Tensor& positions, bool sliding) const {
    const auto& by = sliding ? sliding_frequencies_ : frequencies_;
    return rotations(by, positions, weights_.find_matrix("model.embed_tokens.weight").options());
}

at::Tensor decoder::normed(const at::Tensor& x, const at::Tensor& weight) const {
    return rms_norm(x, weight, config_.norm_epsilon,
                    family_.gains_from_one ? gain_rule::one_and_weight : gain_rule::weight, backward_cache_);
}

// [b·T, H·d] as [b, T, H, d], each head normed where there is a norm.
at::Tensor decoder::heads(const at::Tensor& x, const at::Tensor& norm, const forward_pass& pass) const {
    const auto all = norm.defined() ? normed(x.reshape({-1, config_.head_dim}), norm) : x;
    return all.view({pass.batch, pass.length, -1, config_.head_dim});
}

// residual + module(x), normed on the way where there is a norm.
at::Tensor decoder::add(const at::Tensor& residual, const at::Tensor& x, const linear& module, const at::Tensor& norm,
                        const forward_pass& pass) const {
    if (!norm.defined()) return pass.adapter.add(residual, x, module);
    return residual + normed(pass.adapter.apply(x, {&module})[0], norm);
}

at::Tensor decoder::block(std::size_t layer, const at::Tensor& x, const forward_pass& pass) const {
    const block_weights& w = blocks_[layer];
    const auto& positions = pass.find_layer_kind(layer).positions;
    const auto qkv = pass.adapter.apply(normed(x, w.before_attention), {&w.q, &w.k, &w.v});
    const auto attended = pass.attend(layer, rotate(heads(qkv[0], w.q_norm, pass), positions),
                                      rotate(heads(qkv[1], w.k_norm, pass), positions), heads(qkv[2], {}, pass));
    const auto y = add(x, attended, w.o, w.after_attention, pass);
    const auto inner = pass.adapter.apply(normed(y, w.before_mlp), {&w.gate, &w.up});
    const auto gate = config_.activation == "silu" ? at::silu(inner[0]) : at::gelu(inner[0], "tanh");
    return add(y, gate * inner[1], w.down, w.after_mlp, pass);
}

at::Tensor decoder::final_norm(const at::Tensor& x) const {
    return normed(x, weights_.numbers.at("model.norm.weight"));
}

}  // namespace rldp::models
