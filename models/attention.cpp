#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/functions.hpp"
#include "models/kernels/narrow_attention.hpp"
#include "models/torch_compat.hpp"

namespace rldp::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Queries go in blocks, so that keys after a block or before its window cost nothing.
struct block {
    std::int64_t query, queries, key, keys;  // first and count
};

std::vector<block> list_blocks(std::int64_t length, std::optional<std::int64_t> window) {
    std::vector<block> blocks;
    for (std::int64_t begin = 0; begin < length; begin += queries_at_a_time) {
        const std::int64_t end = std::min(begin + queries_at_a_time, length);
        const std::int64_t first_key = window ? std::max<std::int64_t>(0, begin - *window + 1) : 0;
        blocks.push_back({begin, end - begin, first_key, end - first_key});
    }
    return blocks;
}

// [b, T, H, d] as [b·K, T·G, d]: the G query heads of a key/value head share its products.
at::Tensor grouped(const at::Tensor& t, std::int64_t kv_heads) {
    const std::int64_t b = t.size(0), length = t.size(1), d = t.size(3);
    return t.reshape({b, length, kv_heads, -1, d}).transpose(1, 2).reshape({b * kv_heads, -1, d});
}

at::Tensor ungrouped(const at::Tensor& t, std::int64_t batch, std::int64_t length) {
    const auto wide = t.view({batch, t.size(0) / batch, length, -1, t.size(2)});
    return wide.transpose(1, 2).reshape({batch, length, -1, t.size(2)});
}

struct attention_function : torch::autograd::Function<attention_function> {
    // `records`: whether there will be a backward pass, which alone needs the weights. At 4,096 tokens those of one
    // layer of Llama 1B are a gigabyte.
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const at::Tensor& mask, const attention_rule& rule, bool records) {
        const std::int64_t batch = q.size(0), length = q.size(1), kv_heads = k.size(2), group = q.size(2) / kv_heads;
        const auto queries = grouped(q * rule.scale, kv_heads), keys = grouped(k, kv_heads),
                   values = grouped(v, kv_heads);
        auto out = at::empty_like(queries);
        variable_list saved{queries, keys, values};
        for (const block& at : list_blocks(length, rule.window)) {
            auto weights = at::bmm(queries.narrow(1, at.query * group, at.queries * group),
                                   keys.narrow(1, at.key, at.keys).transpose(1, 2));
            if (rule.cap) {
                weights.div_(*rule.cap).tanh_();
                if (records) saved.push_back(weights.clone());
                weights.mul_(*rule.cap);
            }
            const auto seen = mask.narrow(0, at.query, at.queries).narrow(1, at.key, at.keys);
            weights.view({-1, at.queries, group, at.keys}).add_(seen.unsqueeze(1));
            at::_softmax_out(weights, weights, -1, false);
            auto part = out.narrow(1, at.query * group, at.queries * group);
            at::bmm_out(part, weights, values.narrow(1, at.key, at.keys));
            if (records) saved.push_back(weights);
        }
        if (!records) return ungrouped(out, batch, length);
        ctx->save_for_backward(saved);
        ctx->saved_data["batch"] = batch;
        ctx->saved_data["length"] = length;
        ctx->saved_data["window"] = rule.window.value_or(length);
        ctx->saved_data["scale"] = rule.scale;
        ctx->saved_data["capped"] = rule.cap.has_value();
        return ungrouped(out, batch, length);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        const auto &queries = saved[0], &keys = saved[1], &values = saved[2];
        const std::int64_t batch = ctx->saved_data["batch"].toInt(), length = ctx->saved_data["length"].toInt();
        const std::int64_t group = queries.size(1) / length;
        const bool wants_q = ctx->needs_input_grad(0), wants_k = ctx->needs_input_grad(1);
        const bool wants_v = ctx->needs_input_grad(2);
        auto d_q = wants_q ? at::empty_like(queries) : at::Tensor();
        auto d_k = wants_k ? at::zeros_like(keys) : at::Tensor(), d_v = wants_v ? at::zeros_like(values) : at::Tensor();
        const auto g_all = grouped(gradients[0], keys.size(0) / batch);
        std::size_t next = 3;
        for (const block& at : list_blocks(length, ctx->saved_data["window"].toInt())) {
            const auto rows = [&](const at::Tensor& t) { return t.narrow(1, at.query * group, at.queries * group); };
            const auto columns = [&](const at::Tensor& t) { return t.narrow(1, at.key, at.keys); };
            const auto curve = ctx->saved_data["capped"].toBool() ? saved[next++] : at::Tensor();  // tanh(s / c)
            const auto& weights = saved[next++];
            const auto g = rows(g_all);
            if (wants_v) columns(d_v).baddbmm_(weights.transpose(1, 2), g);
            if (!wants_q && !wants_k) continue;
            auto scores = at::bmm(g, columns(values).transpose(1, 2));
            at::_softmax_backward_data_out(scores, scores, weights, -1, weights.scalar_type());
            if (curve.defined()) at::tanh_backward_out(scores, scores, curve);
            if (wants_k) columns(d_k).baddbmm_(scores.transpose(1, 2), rows(queries));  // these are scaled
            if (!wants_q) continue;
            auto part = rows(d_q);
            at::bmm_out(part, scores, columns(keys));
        }
        if (wants_q) d_q.mul_(ctx->saved_data["scale"].toDouble());
        const auto shaped = [&](const at::Tensor& t) { return t.defined() ? ungrouped(t, batch, length) : t; };
        return {shaped(d_q), shaped(d_k), shaped(d_v), {}, {}, {}};
    }
};

}  // namespace

at::Tensor causal_mask(std::int64_t length, std::optional<std::int64_t> window, const at::TensorOptions& options) {
    const auto i = at::arange(length, options.dtype(at::kLong)).unsqueeze(1), j = i.t();
    auto hidden = j > i;
    if (window) hidden = hidden.logical_or(j <= i - *window);
    return at::zeros({length, length}, options).masked_fill_(hidden, -std::numeric_limits<double>::infinity());
}

attention_rule make_attention_rule(const model_config& config, std::int64_t layer) {
    return {config.score_scale(), config.attention_cap, config.find_window(layer)};
}

bool needs_mask(const attention_rule& rule, std::int64_t length) {
    return !RLDP_FUSED_ATTENTION || rule.cap || (rule.window && *rule.window < length);
}

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                  const attention_rule& rule) {
    const std::int64_t rows = q.size(0) * q.size(1);
    // No other attention than the one above has a cap.
    if (!rule.cap && is_narrow(q)) return attend_narrow(q, k, v, rule.window, rule.scale).reshape({rows, -1});
#if RLDP_FUSED_ATTENTION
    if (!rule.cap) {
        const double own = std::sqrt(static_cast<double>(q.size(3)));  // by which it divides
        const bool usual = std::abs(rule.scale * own - 1) < 1e-9;
        const auto queries = usual ? q : q * (rule.scale * own);
        const auto out = compat::fused_attention(queries.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask);
        return out.transpose(1, 2).reshape({rows, -1});
    }
#endif
    const bool records = at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
    return attention_function::apply(q, k, v, mask, rule, records).reshape({rows, -1});
}

}  // namespace rldp::models
