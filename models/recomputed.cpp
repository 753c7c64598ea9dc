#include "models/recomputed.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <utility>

namespace rldp::models {

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
