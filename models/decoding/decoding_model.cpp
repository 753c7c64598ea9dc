#include "models/decoding/decoding_model.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "models/architecture/family.hpp"
#include "models/families.hpp"
#include "models/functions.hpp"

namespace rldp::models {

namespace {

/// Rows of one module's matrix, and what the adapter adds to them.
struct adapted_rows {
    weight_matrix base;
    struct change {
        at::Tensor a, b;  ///< [r, columns], [rows, r], of the scale
    };
    std::vector<change> changes;

    void read(std::int64_t first, std::int64_t count, float* out) const {
        base.read_rows(first, count, out);
        auto rows = at::from_blob(out, {count, base.columns()}, at::kFloat);
        for (const auto& [a, b] : changes) rows.addmm_(b.narrow(0, first, count), a);
    }
};

/// Makes a model's parts.
class builder {
  public:
    builder(std::shared_ptr<const causal_lm> base, const lora_layout* layout, const at::Tensor* adapter, bool held)
        : base_(std::move(base)), layout_(layout), held_(held) {
        if (adapter != nullptr) adapter_ = adapter->to(at::kCPU, at::kFloat);
    }

    decoding_model::product make_product(std::int64_t layer, const std::vector<std::string>& roles) const {
        std::vector<adapted_rows> parts;
        std::vector<at::Tensor> offsets;
        std::int64_t rows = 0;
        for (const auto& role : roles) {
            const auto module = find_linear(base_->config(), base_->weights(), layer, role);
            parts.push_back({module.matrix(), find_changes(module.module)});
            rows += parts.back().base.rows();
            if (module.bias.defined()) offsets.push_back(module.offsets().to(at::kFloat));
        }
        require(offsets.empty() || offsets.size() == roles.size(), "some modules of a product have offsets");
        const auto columns = parts.front().base.columns();
        return {panel_matrix(rows, columns, make_reader(std::move(parts)), held_),
                offsets.empty() ? at::Tensor() : at::cat(offsets).contiguous()};
    }

    panel_matrix make_head() const {
        std::vector<adapted_rows> parts{{base_->head(), {}}};
        const auto rows = parts.front().base.rows(), columns = parts.front().base.columns();
        return {rows, columns, make_reader(std::move(parts)), held_};
    }

    decoding_model::norm find_norm(const std::string& name, bool from_one = false) const {
        const auto& numbers = base_->weights().numbers;
        const auto offset = numbers.find(name + ".bias");
        const auto gain = numbers.at(name + ".weight").to(at::kFloat).contiguous();
        return {from_one ? gain + 1 : gain,
                offset == numbers.end() ? at::Tensor() : offset->second.to(at::kFloat).contiguous()};
    }

  private:
    std::vector<adapted_rows::change> find_changes(const linear_module& module) const {
        std::vector<adapted_rows::change> out;
        if (layout_ == nullptr) return out;
        for (std::size_t i = 0; i < layout_->pairs.size(); ++i) {
            const auto& name = layout_->pairs[i].module;
            if (name != module.name && (module.inside.empty() || name != module.inside)) continue;
            const auto b = layout_->b(adapter_, i) * layout_->scaling();
            out.push_back({layout_->a(adapter_, i),
                           name == module.name ? b : b.narrow(0, module.first_row, module.d_out).contiguous()});
        }
        return out;
    }

    /// Of parts that stand side by side; they keep the base's memory alive.
    panel_matrix::row_reader make_reader(std::vector<adapted_rows> parts) const {
        return [parts = std::move(parts), base = base_](std::int64_t first, std::int64_t count, float* out) {
            const at::NoGradGuard no_grad;
            for (const auto& part : parts) {
                const auto rows = part.base.rows();
                const auto here = std::min(count, rows - first);
                if (here > 0) {
                    part.read(first, here, out);
                    out += here * part.base.columns();
                    count -= here;
                    first += here;
                }
                first -= rows;
            }
        };
    }

    std::shared_ptr<const causal_lm> base_;
    const lora_layout* layout_;
    at::Tensor adapter_;
    bool held_;
};

decoding_model::layer make_gpt2_layer(const builder& from, std::int64_t at) {
    const auto name = fmt::format("transformer.h.{}.", at);
    decoding_model::layer out;
    out.before_attention = from.find_norm(name + "ln_1");
    out.before_mlp = from.find_norm(name + "ln_2");
    out.qkv = from.make_product(at, {"q", "k", "v"});
    out.o = from.make_product(at, {"o"});
    out.into_mlp = from.make_product(at, {"fc"});
    out.out_of_mlp = from.make_product(at, {"proj"});
    return out;
}

decoding_model::layer make_layer(const builder& from, const family& row, std::int64_t at) {
    const auto name = fmt::format("model.layers.{}.", at);
    const auto norm = [&](const char* of) { return from.find_norm(name + of, row.gains_from_one); };
    decoding_model::layer out;
    // With norms on both sides, that after attention has the name that else is of the one before the MLP.
    out.before_attention = norm("input_layernorm");
    out.before_mlp = norm(row.outer_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm");
    if (row.outer_norms) {
        out.after_attention = norm("post_attention_layernorm");
        out.after_mlp = norm("post_feedforward_layernorm");
    }
    if (row.head_norms) {
        out.q_norm = norm("self_attn.q_norm");
        out.k_norm = norm("self_attn.k_norm");
    }
    out.qkv = from.make_product(at, {"q", "k", "v"});
    out.o = from.make_product(at, {"o"});
    out.into_mlp = from.make_product(at, {"gate", "up"});
    out.out_of_mlp = from.make_product(at, {"down"});
    return out;
}

}  // namespace

decoding_model::decoding_model(std::shared_ptr<const causal_lm> base, const lora_layout* layout,
                               const at::Tensor* adapter, std::int64_t most_numbers_held)
    : config(base->config()) {
    const at::NoGradGuard no_grad;
    require((layout == nullptr) == (adapter == nullptr), "an adapter without its layout");
    require(layout == nullptr || !layout->trains_base(), "an adapter of whole tensors is a model of its own");
    require(config.activation == "silu" || config.activation == "gelu" || config.activation.starts_with("gelu_"),
            "an activation that decoding knows");
    const builder from(base, layout, adapter, base->parameters() <= most_numbers_held);
    const bool gpt2 = config.model_type == "gpt2";
    embedding = base->weights().find_matrix(gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight");
    for (std::int64_t at = 0; at < config.layers; ++at) {
        auto& made = layers.emplace_back(gpt2 ? make_gpt2_layer(from, at)
                                              : make_layer(from, require_family(config.model_type), at));
        const auto rule = make_attention_rule(config, at);
        made.scale = static_cast<float>(rule.scale);
        made.cap = static_cast<float>(rule.cap.value_or(0));
        made.window = rule.window;
        made.slides = config.slides(at);
    }
    head = from.make_head();
    if (gpt2) {
        last = from.find_norm("transformer.ln_f");
        const auto learnt = base->weights().find_matrix("transformer.wpe.weight");
        places = at::empty({learnt.rows(), learnt.columns()}, at::kFloat);
        learnt.read_rows(0, learnt.rows(), places.data_ptr<float>());
        activation = config.activation == "gelu_new" ? decoded_activation::gelu_tanh : decoded_activation::gelu_erf;
        gated = false;
        return;
    }
    const auto& row = require_family(config.model_type);
    last = from.find_norm("model.norm", row.gains_from_one);
    if (row.scaled_embedding)  // rounded to the embedding's type first, as the reference does it
        embedding_scale = at::scalar_tensor(std::sqrt(static_cast<double>(config.width)), embedding.options())
                              .to(at::kFloat)
                              .item<float>();
    activation = config.activation == "silu" ? decoded_activation::silu : decoded_activation::gelu_tanh;
    frequencies = inverse_frequencies(config.rope, config.head_dim);
    sliding_frequencies = inverse_frequencies(config.sliding_rope.value_or(config.rope), config.head_dim);
}

}  // namespace rldp::models
