#include "models/whole/recorded.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace rldp::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::int64_t to_number(std::optional<std::size_t> index) {
    return index ? static_cast<std::int64_t>(*index) : -1;
}

struct recorded_lookup : torch::autograd::Function<recorded_lookup> {
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor&, const at::Tensor& table, const at::Tensor& ids,
                              backward_cache* book) {
        ctx->save_for_backward({ids});
        ctx->saved_data["book"] = reinterpret_cast<std::int64_t>(book);
        ctx->saved_data["tensor"] = static_cast<std::int64_t>(*book->find_index(table));
        return at::embedding(table, ids);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        auto* const book = reinterpret_cast<backward_cache*>(ctx->saved_data["book"].toInt());
        const auto tensor = static_cast<std::size_t>(ctx->saved_data["tensor"].toInt());
        const auto ids = ctx->get_saved_variables()[0].reshape({-1});
        book->add_lookup(tensor, ids, gradients[0].reshape({ids.numel(), -1}));
        return {{}, {}, {}, {}};
    }
};

struct recorded_layer_norm : torch::autograd::Function<recorded_layer_norm> {
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor&, const at::Tensor& x, const at::Tensor& gain,
                              const at::Tensor& offset, double epsilon, backward_cache* book) {
        const auto [y, mean, inverse] = at::native_layer_norm(x, gain.sizes(), gain, offset, epsilon);
        ctx->save_for_backward({x, gain, offset, mean, inverse});
        ctx->saved_data["book"] = reinterpret_cast<std::int64_t>(book);
        ctx->saved_data["gain"] = to_number(book->find_index(gain));
        ctx->saved_data["offset"] = to_number(book->find_index(offset));
        return y;
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        const auto &x = saved[0], &gain = saved[1], &offset = saved[2], &mean = saved[3], &inverse = saved[4];
        const auto& g = gradients[0];
        auto* const book = reinterpret_cast<backward_cache*>(ctx->saved_data["book"].toInt());
        const auto of_gain = ctx->saved_data["gain"].toInt(), of_offset = ctx->saved_data["offset"].toInt();
        if (of_gain >= 0) book->add_summands(static_cast<std::size_t>(of_gain), ((x - mean) * inverse).mul_(g));
        if (of_offset >= 0) book->add_summands(static_cast<std::size_t>(of_offset), g);
        at::Tensor d_x;
        if (ctx->needs_input_grad(1))
            d_x = std::get<0>(
                at::native_layer_norm_backward(g, x, gain.sizes(), mean, inverse, gain, offset, {true, false, false}));
        return {{}, d_x, {}, {}, {}, {}};
    }
};

}  // namespace

at::Tensor look_up(const at::Tensor& table, const at::Tensor& ids, backward_cache* book) {
    if (!book || !book->find_index(table)) return at::embedding(table, ids);
    return recorded_lookup::apply(book->anchor(), table, ids, book);
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& offset, double epsilon,
                      backward_cache* book) {
    if (!book || (!book->find_index(gain) && !book->find_index(offset)))
        return at::layer_norm(x, gain.sizes(), gain, offset, epsilon);
    return recorded_layer_norm::apply(book->anchor(), x, gain, offset, epsilon, book);
}

}  // namespace rldp::models
