#include <cmath>
#include <limits>

#include "models/functions.hpp"
#include "models/torch_compat.hpp"

namespace rldp::models {

namespace {

#if !RLDP_FUSED_ATTENTION
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The query heads of one key/value head lie one after another, so that they share a product: [b, H, T, d] as [b·K, G·T,
// d].
at::Tensor grouped(const at::Tensor& t, std::int64_t kv_heads) {
    return t.contiguous().view({t.size(0) * kv_heads, -1, t.size(3)});
}

struct attention_function : torch::autograd::Function<attention_function> {
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const at::Tensor& mask) {
        const std::int64_t heads = k.size(1), repeats = q.size(1) / heads;
        const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
        const auto queries = grouped(q, heads), keys = grouped(k, heads), values = grouped(v, heads);
        auto weights = at::baddbmm(mask.repeat({repeats, 1}), queries, keys.transpose(1, 2), 1, scale);
        at::_softmax_out(weights, weights, -1, false);
        ctx->save_for_backward({queries, keys, values, weights});
        return at::bmm(weights, values).view(q.sizes());
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        const auto &queries = saved[0], &keys = saved[1], &values = saved[2], &weights = saved[3];
        const std::int64_t batch = gradients[0].size(0), length = gradients[0].size(2), width = gradients[0].size(3);
        const double scale = 1 / std::sqrt(static_cast<double>(width));
        const auto shaped = [&](const at::Tensor& t) { return t.view({batch, -1, length, width}); };
        const auto g = gradients[0].contiguous().view(queries.sizes());
        at::Tensor d_q, d_k, d_v;
        if (ctx->needs_input_grad(2)) d_v = shaped(at::bmm(weights.transpose(1, 2), g));
        if (ctx->needs_input_grad(0) || ctx->needs_input_grad(1)) {
            auto scores = at::bmm(g, values.transpose(1, 2));
            at::_softmax_backward_data_out(scores, scores, weights, -1, weights.scalar_type());
            if (ctx->needs_input_grad(0)) d_q = shaped(at::bmm(scores, keys).mul_(scale));
            if (ctx->needs_input_grad(1)) d_k = shaped(at::bmm(scores.transpose(1, 2), queries).mul_(scale));
        }
        return {d_q, d_k, d_v, {}};
    }
};
#endif

}  // namespace

at::Tensor causal_mask(std::int64_t length, std::optional<std::int64_t> window, const at::TensorOptions& options) {
    const auto i = at::arange(length, options.dtype(torch::kLong)).unsqueeze(1), j = i.t();
    auto hidden = j > i;
    if (window) hidden = hidden.logical_or(j <= i - *window);
    return at::zeros({length, length}, options).masked_fill_(hidden, -std::numeric_limits<double>::infinity());
}

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask) {
#if RLDP_FUSED_ATTENTION
    const auto heads = compat::fused_attention(q, k, v, mask);
#else
    const auto heads = attention_function::apply(q, k, v, mask);
#endif
    return heads.transpose(1, 2).reshape({q.size(0) * q.size(2), q.size(1) * q.size(3)});
}

}  // namespace rldp::models
