#include "models/lora/adaptation.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <algorithm>

#include "models/kernels/products.hpp"
#include "models/whole/backward_cache.hpp"

namespace rldp::models {

weight_matrix linear::matrix() const {
    const auto held = weight.empty() && source ? source->find(layer, weight_name()) : weight;
    const auto whole = conv1d && held.numbers().defined() ? weight_matrix(held.numbers().t()) : held;
    return module.inside.empty() ? whole : whole.narrow(module.first_row, module.d_out);
}

at::Tensor linear::offsets() const {
    return module.inside.empty() || !bias.defined() ? bias : bias.narrow(0, module.first_row, module.d_out);
}

adaptation::adaptation(const lora_layout& layout, at::Tensor flat, gradient_sink* sink, dropout_source dropout)
    : layout_(&layout), flat_(std::move(flat)), sink_(sink), dropout_(std::move(dropout)) {
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) index_[layout.pairs[i].module] = i;
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool leads_back(const at::Tensor& t) {
    return t.defined() && t.requires_grad();
}

// residual + bias + x·matrixᵀ in one product.
at::Tensor frozen(const at::Tensor& x, const linear& module, const at::Tensor& residual) {
    const auto offsets = module.offsets();
    if (residual.defined()) {
        auto y = offsets.defined() ? residual + offsets : residual.clone();
        return module.matrix().apply_onto(y, x);
    }
    return module.matrix().apply(x, offsets);
}

/// Whether they are neighbouring rows of one module (GPT-2's q, k and v, Phi-3's gate and up).
bool are_one(const adaptation::modules& group) {
    auto row = group.front()->module.first_row;
    for (const linear* each : group) {
        if (each->module.inside.empty() || each->module.inside != group.front()->module.inside) return false;
        if (each->module.first_row != row) return false;
        row += each->module.d_out;
    }
    return group.size() > 1;
}

/// The outputs of modules that are one, as parts of one product.
std::vector<at::Tensor> frozen_as_one(const at::Tensor& x, const adaptation::modules& group) {
    linear all = *group.front();
    all.module.d_out = group.back()->module.first_row + group.back()->module.d_out - all.module.first_row;
    const auto whole = frozen(x, all, {});
    std::vector<at::Tensor> outputs;
    for (const linear* each : group)
        outputs.push_back(whole.narrow(1, each->module.first_row - all.module.first_row, each->module.d_out));
    return outputs;
}

}  // namespace

std::vector<adaptation::pair_at_work> adaptation::list_pairs(const modules& group) const {
    std::vector<pair_at_work> pairs;
    const auto work = [&](const std::string& name) -> pair_at_work* {
        const auto found = index_.find(name);
        if (found == index_.end()) return nullptr;
        for (auto& pair : pairs)
            if (pair.index == found->second) return &pair;
        const std::size_t i = found->second;
        const auto& pair = layout_->pairs[i];
        pairs.push_back({pair.offset,
                         i,
                         layout_->a(flat_, i),
                         layout_->b(flat_, i),
                         pair.a_size,
                         pair.size - pair.a_size,
                         {},
                         {},
                         {},
                         {}});
        return &pairs.back();
    };
    for (std::size_t i = 0; i < group.size(); ++i) {
        const linear_module& module = group[i]->module;
        if (auto* own = work(module.name)) own->pieces.push_back({i, 0, module.d_out});
        if (auto* fused = work(module.inside)) fused->pieces.push_back({i, module.first_row, module.d_out});
    }
    return pairs;
}

at::Tensor adaptation::pair_at_work::input() const {
    return kept.defined() ? x * kept : x;
}

double adaptation::scaling() const {
    return dropout_ ? layout_->scaling() / (1 - layout_->config.dropout) : layout_->scaling();
}

// Differentiable in x, the residual, the base's weights and the flat adapter, where these ask for it.
std::vector<at::Tensor> adaptation::evaluate(const at::Tensor& x, const modules& group, const at::Tensor& residual,
                                             std::vector<pair_at_work>& pairs) const {
    std::vector<at::Tensor> outputs;
    // What autograd itself records must not be changed in parts, as adapters change it below.
    if (!residual.defined() && !at::GradMode::is_enabled() && are_one(group))
        outputs = frozen_as_one(x, group);
    else
        for (const linear* module : group) outputs.push_back(frozen(x, *module, residual));
    for (auto& pair : pairs) {
        pair.x = x;
        pair.hidden = product(pair.input(), pair.a.t()).mul_(scaling());
        for (const auto& piece : pair.pieces)
            product_onto(outputs[piece.output], pair.hidden, pair.b.narrow(0, piece.first_row, piece.rows).t());
    }
    return outputs;
}

// The function whose backward pass leaves each unit's ∇A and ∇B in the sink. Unlike autograd's own it sums the input's
// gradient over the group in place and, where nothing below is adapted, does not compute it.
struct adapted_function : torch::autograd::Function<adapted_function> {
    struct call : torch::CustomClassHolder {
        adaptation::modules group;
        std::vector<adaptation::pair_at_work> pairs;
        gradient_sink* sink;
        double scaling;
        bool has_residual;
    };

    // Inputs: x, the anchor and, where there is one, the residual.
    static variable_list forward(AutogradContext* ctx, at::TensorList inputs, const adaptation* self,
                                 c10::intrusive_ptr<call> state) {
        const at::Tensor residual = inputs.size() > 2 ? inputs[2] : at::Tensor();
        auto outputs = self->evaluate(inputs[0], state->group, residual, state->pairs);
        // Below the first adapter the modules without one lead nowhere.
        variable_list leaves;
        if (!leads_back(inputs[0]) && !leads_back(residual))
            for (std::size_t i = 0; i < outputs.size(); ++i)
                if (!adapts(*state, i)) leaves.push_back(outputs[i]);
        ctx->mark_non_differentiable(leaves);
        ctx->set_materialize_grads(false);
        ctx->saved_data["call"] = c10::IValue::make_capsule(std::move(state));
        return outputs;
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto capsule = ctx->saved_data["call"].toCapsule();
        auto& state = static_cast<call&>(*capsule);
        at::Tensor d_x;
        if (ctx->needs_input_grad(0)) d_x = through_base(state, gradients);
        for (auto& pair : state.pairs) through_pair(state, pair, gradients, d_x);
        state.pairs.clear();
        if (!state.has_residual) return {d_x, {}, {}, {}};
        return {d_x, {}, ctx->needs_input_grad(2) ? gradients[0] : at::Tensor(), {}, {}};
    }

  private:
    static bool adapts(const call& state, std::size_t output) {
        for (const auto& pair : state.pairs)
            for (const auto& piece : pair.pieces)
                if (piece.output == output) return true;
        return false;
    }

    static at::Tensor through_base(const call& state, const variable_list& gradients) {
        const auto& first = *state.group.front();
        if (first.source) first.source->come_to(first.layer, heading::down);
        at::Tensor d_x;
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            if (!gradients[i].defined()) continue;
            const auto matrix = state.group[i]->matrix();
            if (d_x.defined())
                matrix.pull_back_onto(d_x, gradients[i]);
            else
                d_x = matrix.pull_back(gradients[i]);
        }
        return d_x;
    }

    // ∇B = s·gᵀh and ∇A = (s·gB)ᵀx, batched over units; adds A's share to the input's gradient.
    static void through_pair(const call& state, adaptation::pair_at_work& pair, const variable_list& gradients,
                             at::Tensor& d_x) {
        at::Tensor d_hidden;  // s·gB, [N, r]
        for (const auto& piece : pair.pieces) {
            const auto& g = gradients[piece.output];
            if (!g.defined()) return;
            const auto b = pair.b.narrow(0, piece.first_row, piece.rows);
            if (d_hidden.defined())
                product_onto(d_hidden, g, b);
            else
                d_hidden = product(g, b);
        }
        d_hidden.mul_(state.scaling);
        write(state, pair, gradients, d_hidden);
        if (!d_x.defined()) return;
        if (pair.kept.defined())
            d_x.add_(product(d_hidden, pair.a).mul_(pair.kept));
        else
            product_onto(d_x, d_hidden, pair.a);
    }

    static void write(const call& state, const adaptation::pair_at_work& pair, const variable_list& gradients,
                      const at::Tensor& d_hidden) {
        const std::int64_t units = state.sink->gradients.size(0), rank = pair.b.size(1);
        const auto per_unit = [units](const at::Tensor& t) { return t.view({units, -1, t.size(1)}); };
        const auto row = state.sink->gradients.narrow(1, pair.offset, pair.a_size + pair.b_size);
        unit_products(row.narrow(1, 0, pair.a_size).view({units, rank, -1}), per_unit(d_hidden),
                      per_unit(pair.input()));
        const auto b = row.narrow(1, pair.a_size, pair.b_size).view({units, -1, rank});
        for (const auto& piece : pair.pieces)
            unit_products(b.narrow(1, piece.first_row, piece.rows), per_unit(gradients[piece.output]),
                          per_unit(pair.hidden));
        ++state.sink->written;
    }

    // out [units, m, n] = leftᵀ·right for left [units, T, m], right [units, T, n]. In float32, also of a base in
    // bfloat16: what is clipped is not rounded first.
    static void unit_products(at::Tensor out, const at::Tensor& left, const at::Tensor& right) {
        at::bmm_out(out, left.to(at::kFloat).transpose(1, 2), right.to(at::kFloat));
    }
};

namespace {

// Modules whose weights are trained whole: the function whose backward pass notes x and the outputs' gradients.
struct noted_function : torch::autograd::Function<noted_function> {
    struct call : torch::CustomClassHolder {
        adaptation::modules group;
        backward_cache* cache;
        at::Tensor x;
        bool has_residual;
    };

    // Inputs: x, the anchor and, where there is one, the residual.
    static variable_list forward(AutogradContext* ctx, at::TensorList inputs, c10::intrusive_ptr<call> state) {
        variable_list outputs;
        const at::Tensor residual = inputs.size() > 2 ? inputs[2] : at::Tensor();
        for (const linear* module : state->group) outputs.push_back(frozen(inputs[0], *module, residual));
        state->x = inputs[0].detach();
        ctx->set_materialize_grads(false);
        ctx->saved_data["call"] = c10::IValue::make_capsule(std::move(state));
        return outputs;
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto capsule = ctx->saved_data["call"].toCapsule();
        auto& state = static_cast<call&>(*capsule);
        at::Tensor d_x;
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            if (!gradients[i].defined() || !ctx->needs_input_grad(0)) continue;
            const auto matrix = state.group[i]->matrix();
            if (d_x.defined())
                matrix.pull_back_onto(d_x, gradients[i]);
            else
                d_x = matrix.pull_back(gradients[i]);
        }
        note(state, gradients);
        state.x.reset();
        if (!state.has_residual) return {d_x, {}, {}};
        return {d_x, {}, ctx->needs_input_grad(2) ? gradients[0] : at::Tensor(), {}};
    }

  private:
    // Parts of one module follow each other in a group, in the order of its rows, and are all there.
    static void note(const call& state, const variable_list& gradients) {
        const auto& group = state.group;
        for (std::size_t i = 0, end = 0; i < group.size(); i = end) {
            const linear& module = *group[i];
            for (end = i; end < group.size() && group[end]->weight.numbers().is_same(module.weight.numbers()); ++end) {
            }
            const auto weight = state.cache->find_index(module.weight.numbers()),
                       bias = state.cache->find_index(module.bias);
            if ((!weight && !bias) || !gradients[i].defined()) continue;
            const variable_list parts(gradients.begin() + static_cast<std::ptrdiff_t>(i),
                                      gradients.begin() + static_cast<std::ptrdiff_t>(end));
            const auto g = parts.size() == 1 ? parts.front() : at::cat(parts, 1);
            if (weight && module.conv1d) state.cache->add_product(*weight, state.x, g);
            if (weight && !module.conv1d) state.cache->add_product(*weight, g, state.x);
            if (bias) state.cache->add_summands(*bias, g);
        }
    }
};

}  // namespace

std::vector<at::Tensor> adaptation::run(const at::Tensor& x, const modules& group, const at::Tensor& residual) const {
    const auto is_noted = [&](const linear* module) {
        return backward_cache_->find_index(module->weight.numbers()) || backward_cache_->find_index(module->bias);
    };
    if (backward_cache_ && std::any_of(group.begin(), group.end(), is_noted)) {
        auto state = c10::make_intrusive<noted_function::call>();
        state->group = group;
        state->cache = backward_cache_;
        state->has_residual = residual.defined();
        variable_list inputs{x, backward_cache_->anchor()};
        if (residual.defined()) inputs.push_back(residual);
        return noted_function::apply(at::TensorList(inputs), state);
    }
    auto pairs = list_pairs(group);
    if (dropout_) {
        const std::int64_t units = sink_->gradients.size(0);
        for (auto& pair : pairs)
            pair.kept = dropout_(pair.index, {units, x.size(0) / units, x.size(1)}).view(x.sizes());
    }
    if (!sink_ || (pairs.empty() && !leads_back(x) && !leads_back(residual)))
        return evaluate(x, group, residual, pairs);
    auto state = c10::make_intrusive<adapted_function::call>();
    state->group = group;
    state->pairs = std::move(pairs);
    state->sink = sink_;
    state->scaling = scaling();
    state->has_residual = residual.defined();
    variable_list inputs{x, sink_->anchor};
    if (residual.defined()) inputs.push_back(residual);
    return adapted_function::apply(at::TensorList(inputs), this, state);
}

std::vector<at::Tensor> adaptation::apply(const at::Tensor& x, const modules& group) const {
    return run(x, group, {});
}

at::Tensor adaptation::add(const at::Tensor& residual, const at::Tensor& x, const linear& module) const {
    return run(x, {&module}, residual)[0];
}

}  // namespace rldp::models
