#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "models/functions.hpp"
#include "models/kernels/rows.hpp"
#include "models/whole/backward_cache.hpp"

namespace rldp::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool in_rows_of_floats(const at::Tensor& t) {
    return t.device().is_cpu() && t.scalar_type() == at::kFloat && t.is_contiguous();
}

/// body(first, count) for parts of so many rows.
template <class Body>
void for_rows(std::int64_t rows, std::int64_t width, const Body& body) {
    constexpr std::int64_t numbers = std::int64_t{1} << 15;  // fewer are not worth another thread
    at::parallel_for(0, rows, std::max<std::int64_t>(1, numbers / std::max<std::int64_t>(1, width)),
                     [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
}

struct rms_norm_function : torch::autograd::Function<rms_norm_function> {
    /// The fifth leads back to the cache; without one it is any tensor.
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, double epsilon,
                              gain_rule rule, const at::Tensor&, backward_cache* cache) {
        if (cache) {
            ctx->saved_data["cache"] = reinterpret_cast<std::int64_t>(cache);
            ctx->saved_data["tensor"] = static_cast<std::int64_t>(*cache->find_index(weight));
        }
        ctx->saved_data["from_one"] = rule == gain_rule::one_and_weight;
        if (in_rows_of_floats(x)) {
            const auto gain = make_gain(weight, rule == gain_rule::one_and_weight);
            auto out = at::empty_like(x), inverse = at::empty({x.size(0), 1}, x.options());
            ctx->save_for_backward({x, weight, inverse});
            const auto width = x.size(1);
            for_rows(x.size(0), width, [&](std::int64_t begin, std::int64_t count) {
                scale_to_rms(x.data_ptr<float>() + begin * width, gain.data_ptr<float>(), static_cast<float>(epsilon),
                             out.data_ptr<float>() + begin * width, inverse.data_ptr<float>() + begin, count, width);
            });
            return out;
        }
        const auto wide = x.to(at::kFloat);  // as the reference does for a base in bfloat16
        const auto inverse = wide.square().mean({-1}, true).add_(epsilon).rsqrt_();
        ctx->save_for_backward({x, weight, inverse});
        if (rule == gain_rule::one_and_weight)
            return (wide * inverse).mul_(make_gain(weight, true)).to(x.scalar_type());
        return (wide * inverse).to(x.scalar_type()).mul_(weight);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        const auto& weight = saved[1];
        const auto& inverse = saved[2];
        const auto g = gradients[0].to(at::kFloat);
        const auto gain = make_gain(weight, ctx->saved_data["from_one"].toBool());
        const auto cache = ctx->saved_data.find("cache");
        const bool noted = cache != ctx->saved_data.end();
        if (!noted && !weight.requires_grad() && in_rows_of_floats(saved[0]))
            return {ctx->needs_input_grad(0) ? by_rows(g.contiguous(), saved[0], gain, inverse) : at::Tensor(),
                    {},
                    {},
                    {},
                    {},
                    {}};
        const auto normed = saved[0].to(at::kFloat) * inverse;
        at::Tensor d_weight;
        if (weight.requires_grad()) d_weight = (g * normed).sum(0).to(weight.scalar_type());
        if (noted)
            reinterpret_cast<backward_cache*>(cache->second.toInt())
                ->add_summands(static_cast<std::size_t>(ctx->saved_data["tensor"].toInt()), g * normed);
        if (!ctx->needs_input_grad(0)) return {{}, d_weight, {}, {}, {}, {}};
        auto d_x = g * gain;
        const auto along = (d_x * normed).mean({-1}, true);
        d_x.addcmul_(normed, along, -1).mul_(inverse);
        return {d_x.to(saved[0].scalar_type()), d_weight, {}, {}, {}, {}};
    }

  private:
    static at::Tensor make_gain(const at::Tensor& weight, bool from_one) {
        return from_one ? weight.to(at::kFloat) + 1 : weight.contiguous();
    }

    static at::Tensor by_rows(const at::Tensor& g, const at::Tensor& x, const at::Tensor& gain,
                              const at::Tensor& inverse) {
        auto d_x = at::empty_like(x);
        const auto width = x.size(1);
        for_rows(x.size(0), width, [&](std::int64_t begin, std::int64_t count) {
            const auto at = begin * width;
            scale_to_rms_backward(g.data_ptr<float>() + at, x.data_ptr<float>() + at, gain.data_ptr<float>(),
                                  inverse.data_ptr<float>() + begin, d_x.data_ptr<float>() + at, count, width);
        });
        return d_x;
    }
};

// x [b, T, H, d] turned by ±angle [T, d/2] or [b, T, d/2].
at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double sign) {
    const std::int64_t half = x.size(-1) / 2;
    auto out = at::empty(x.sizes(), x.options());
    if (in_rows_of_floats(x) && in_rows_of_floats(cos) && in_rows_of_floats(sin)) {
        const std::int64_t heads = x.size(2), angles = cos.numel() / half;  // T of them, or b·T
        for_rows(x.size(0) * x.size(1), heads * 2 * half, [&](std::int64_t begin, std::int64_t count) {
            for (auto row = begin; row < begin + count; ++row) {
                const auto angle = row % angles * half, at = row * heads * 2 * half;
                turn_heads(x.data_ptr<float>() + at, cos.data_ptr<float>() + angle, sin.data_ptr<float>() + angle,
                           static_cast<float>(sign), out.data_ptr<float>() + at, heads, half);
            }
        });
        return out;
    }
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
                    backward_cache* cache) {
    const bool notes = cache && cache->find_index(weight);
    return rms_norm_function::apply(x, weight, epsilon, rule, notes ? cache->anchor() : weight,
                                    notes ? cache : nullptr);
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

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using model_part = std::function<at::Tensor(const at::Tensor& x)>;

struct recomputed_function : torch::autograd::Function<recomputed_function> {
    struct held : torch::CustomClassHolder {
        explicit held(model_part what) : block(std::move(what)) {}
        model_part block;
    };

    static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, c10::intrusive_ptr<held> what) {
        ctx->save_for_backward({x});
        const auto y = what->block(x);  // records nothing: gradients are off in here
        ctx->saved_data["block"] = c10::IValue::make_capsule(std::move(what));
        return y;
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto capsule = ctx->saved_data["block"].toCapsule();
        const auto& block = static_cast<held&>(*capsule).block;
        const at::AutoGradMode recording(true);
        const auto x = ctx->get_saved_variables()[0].detach().requires_grad_();
        torch::autograd::backward({block(x)}, {gradients[0]});
        return {x.grad(), {}};
    }
};

}  // namespace

at::Tensor recomputed(model_part block, const at::Tensor& x) {
    return recomputed_function::apply(x, c10::make_intrusive<recomputed_function::held>(std::move(block)));
}

}  // namespace rldp::models
