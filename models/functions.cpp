#include "models/functions.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/whole/gradient_book.hpp"

namespace rldp::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct rms_norm_function : torch::autograd::Function<rms_norm_function> {
    /// The fifth leads back to the book; without one it is any tensor.
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, double epsilon,
                              gain_rule rule, const at::Tensor&, gradient_book* book) {
        if (book) {
            ctx->saved_data["book"] = reinterpret_cast<std::int64_t>(book);
            ctx->saved_data["tensor"] = static_cast<std::int64_t>(*book->index_of(weight));
        }
        const auto wide = x.to(at::kFloat);  // as the reference does for a base in bfloat16
        const auto inverse = wide.square().mean({-1}, true).add_(epsilon).rsqrt_();
        ctx->save_for_backward({x, weight, inverse});
        ctx->saved_data["from_one"] = rule == gain_rule::one_and_weight;
        if (rule == gain_rule::one_and_weight) return (wide * inverse).mul_(from_one(weight)).to(x.scalar_type());
        return (wide * inverse).to(x.scalar_type()).mul_(weight);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        const auto& weight = saved[1];
        const auto& inverse = saved[2];
        const auto normed = saved[0].to(at::kFloat) * inverse;
        const auto g = gradients[0].to(at::kFloat);
        at::Tensor d_weight;
        if (weight.requires_grad()) d_weight = (g * normed).sum(0).to(weight.scalar_type());
        if (const auto book = ctx->saved_data.find("book"); book != ctx->saved_data.end())
            reinterpret_cast<gradient_book*>(book->second.toInt())
                ->add_summands(static_cast<std::size_t>(ctx->saved_data["tensor"].toInt()), g * normed);
        if (!ctx->needs_input_grad(0)) return {{}, d_weight, {}, {}, {}, {}};
        auto d_x = g * (ctx->saved_data["from_one"].toBool() ? from_one(weight) : weight);
        const auto along = (d_x * normed).mean({-1}, true);
        d_x.addcmul_(normed, along, -1).mul_(inverse);
        return {d_x.to(saved[0].scalar_type()), d_weight, {}, {}, {}, {}};
    }

  private:
    static at::Tensor from_one(const at::Tensor& weight) { return weight.to(at::kFloat) + 1; }
};

// x [b, T, H, d] turned by ±angle [T, d/2] or [b, T, d/2].
at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double sign) {
    const std::int64_t half = x.size(-1) / 2;
    auto out = at::empty(x.sizes(), x.options());
    const auto c = cos.unsqueeze(-2), s = sin.unsqueeze(-2);
    const auto first = x.narrow(-1, 0, half), second = x.narrow(-1, half, half);
    auto out_first = out.narrow(-1, 0, half), out_second = out.narrow(-1, half, half);
    at::mul_out(out_first, first, c).addcmul_(second, s, -sign);
    at::mul_out(out_second, second, c).addcmul_(first, s, sign);
    return out;
}

struct rotate_function : torch::autograd::Function<rotate_function> {
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
        ctx->save_for_backward({cos, sin});
        return turned(x, cos, sin, 1);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        return {turned(gradients[0], saved[0], saved[1], -1), {}, {}};
    }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon, gain_rule rule,
                    gradient_book* book) {
    const bool notes = book && book->index_of(weight);
    return rms_norm_function::apply(x, weight, epsilon, rule, notes ? book->anchor() : weight, notes ? book : nullptr);
}

at::Tensor soft_cap(const at::Tensor& x, std::optional<double> cap) {
    return cap ? at::div(x, *cap).tanh_().mul(*cap) : x;
}

at::Tensor inverse_frequencies(const model_config::rope_parameters& rope, std::int64_t head_dim) {
    auto result = at::empty({head_dim / 2}, at::kFloat);
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
        double f = std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
        if (rope.type == "linear") f /= rope.factor;
        if (rope.type == "llama3") {
            // Long wavelengths are scaled by the factor, short ones kept, those between blended (Llama 3.1).
            const double turns = static_cast<double>(rope.original_window) * f / (2 * std::numbers::pi);
            const double blend = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
            const double keep = std::clamp(blend, 0.0, 1.0);
            f = (1 - keep) * f / rope.factor + keep * f;
        }
        result[i] = f;
    }
    return result;
}

rotation rotations(const at::Tensor& frequencies, const at::Tensor& positions, const at::TensorOptions& options) {
    const auto angles = positions.to(at::kFloat).unsqueeze(-1) * frequencies;
    const auto there = [&](const at::Tensor& t) { return t.to(options, /*non_blocking=*/true); };
    return {there(angles.cos()), there(angles.sin())};
}

at::Tensor rotate(const at::Tensor& x, const rotation& by) {
    return rotate_function::apply(x, by.cos, by.sin);
}

}  // namespace rldp::models
