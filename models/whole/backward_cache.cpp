#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "base/error.hpp"
#include "models/whole/backward_cache.hpp"

namespace rldp::models {

backward_cache::backward_cache(const std::vector<at::Tensor>& trained, unit_rows rows)
    : pages_(trained.size()), rows_(std::move(rows)) {
    require(!trained.empty(), "a cache of no tensors");
    for (std::size_t i = 0; i < trained.size(); ++i) index_.emplace(trained[i].unsafeGetTensorImpl(), i);
    anchor_ = at::zeros({0}, trained.front().options().requires_grad(false)).requires_grad_();
}

std::optional<std::size_t> backward_cache::find_index(const at::Tensor& weight) const {
    const auto found = weight.defined() ? index_.find(weight.unsafeGetTensorImpl()) : index_.end();
    return found == index_.end() ? std::nullopt : std::optional(found->second);
}

void backward_cache::set_predictions(const at::Tensor& of_record) {
    const auto counts = of_record.to(at::kCPU).contiguous();
    const auto* const each = counts.data_ptr<std::int64_t>();
    predictions_ = {0};
    for (std::int64_t unit = 0; unit < rows_.units(); ++unit) {
        auto rows = predictions_.back();
        const auto u = static_cast<std::size_t>(unit);
        for (auto record = rows_.first_record[u]; record < rows_.first_record[u + 1]; ++record) rows += each[record];
        predictions_.push_back(rows);
    }
}

// Positions that predict are fewer than all, for the last of a record has nothing to predict; all others come as often
// as there are positions, or a multiple (of heads).
row_ranges backward_cache::find_ranges(std::int64_t rows) const {
    const auto records = rows_.first_record.back();
    if (rows % (records * rows_.length) != 0) {
        require(!predictions_.empty() && rows == predictions_.back(), "rows that are nobody's positions");
        return predictions_;
    }
    row_ranges out;
    for (const auto record : rows_.first_record) out.push_back(record * (rows / records));
    return out;
}

void backward_cache::add_product(std::size_t tensor, at::Tensor left, at::Tensor right) {
    auto& page = pages_.at(tensor).product;
    require(!page, "a tensor is used twice in one pass");
    auto first = find_ranges(left.size(0));
    page = product_factors{std::move(left), std::move(right), std::move(first)};
}

void backward_cache::add_lookup(std::size_t tensor, at::Tensor ids, at::Tensor right) {
    auto& page = pages_.at(tensor).lookup;
    require(!page, "a tensor is looked up twice in one pass");
    auto first = find_ranges(right.size(0));
    page = lookup_factors{std::move(ids), std::move(right), std::move(first)};
}

void backward_cache::add_summands(std::size_t tensor, const at::Tensor& summands) {
    const at::NoGradGuard no_grad;
    auto& page = pages_.at(tensor).sums;
    require(!page.defined(), "a tensor is used twice in one pass");
    const auto first = find_ranges(summands.size(0));
    page = at::zeros({rows_.units(), summands.size(1)}, summands.options());
    for (std::int64_t unit = 0; unit < rows_.units(); ++unit) {
        const auto u = static_cast<std::size_t>(unit);
        auto row = page[unit];
        at::sum_out(row, summands.narrow(0, first[u], first[u + 1] - first[u]), at::IntArrayRef{0});
    }
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::int64_t to_number(std::optional<std::size_t> index) {
    return index ? static_cast<std::int64_t>(*index) : -1;
}

struct recorded_lookup : torch::autograd::Function<recorded_lookup> {
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor&, const at::Tensor& table, const at::Tensor& ids,
                              backward_cache* cache) {
        ctx->save_for_backward({ids});
        ctx->saved_data["cache"] = reinterpret_cast<std::int64_t>(cache);
        ctx->saved_data["tensor"] = static_cast<std::int64_t>(*cache->find_index(table));
        return at::embedding(table, ids);
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        auto* const cache = reinterpret_cast<backward_cache*>(ctx->saved_data["cache"].toInt());
        const auto tensor = static_cast<std::size_t>(ctx->saved_data["tensor"].toInt());
        const auto ids = ctx->get_saved_variables()[0].reshape({-1});
        cache->add_lookup(tensor, ids, gradients[0].reshape({ids.numel(), -1}));
        return {{}, {}, {}, {}};
    }
};

struct recorded_layer_norm : torch::autograd::Function<recorded_layer_norm> {
    static at::Tensor forward(AutogradContext* ctx, const at::Tensor&, const at::Tensor& x, const at::Tensor& gain,
                              const at::Tensor& offset, double epsilon, backward_cache* cache) {
        const auto [y, mean, inverse] = at::native_layer_norm(x, gain.sizes(), gain, offset, epsilon);
        ctx->save_for_backward({x, gain, offset, mean, inverse});
        ctx->saved_data["cache"] = reinterpret_cast<std::int64_t>(cache);
        ctx->saved_data["gain"] = to_number(cache->find_index(gain));
        ctx->saved_data["offset"] = to_number(cache->find_index(offset));
        return y;
    }

    static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
        const auto saved = ctx->get_saved_variables();
        const auto &x = saved[0], &gain = saved[1], &offset = saved[2], &mean = saved[3], &inverse = saved[4];
        const auto& g = gradients[0];
        auto* const cache = reinterpret_cast<backward_cache*>(ctx->saved_data["cache"].toInt());
        const auto of_gain = ctx->saved_data["gain"].toInt(), of_offset = ctx->saved_data["offset"].toInt();
        if (of_gain >= 0) cache->add_summands(static_cast<std::size_t>(of_gain), ((x - mean) * inverse).mul_(g));
        if (of_offset >= 0) cache->add_summands(static_cast<std::size_t>(of_offset), g);
        at::Tensor d_x;
        if (ctx->needs_input_grad(1))
            d_x = std::get<0>(
                at::native_layer_norm_backward(g, x, gain.sizes(), mean, inverse, gain, offset, {true, false, false}));
        return {{}, d_x, {}, {}, {}, {}};
    }
};

}  // namespace

at::Tensor look_up(const weight_matrix& table, const at::Tensor& ids, backward_cache* cache) {
    const auto& numbers = table.numbers();
    if (!numbers.defined()) return table.look_up(ids);
    if (!cache || !cache->find_index(numbers)) return at::embedding(numbers, ids);
    return recorded_lookup::apply(cache->anchor(), numbers, ids, cache);
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& offset, double epsilon,
                      backward_cache* cache) {
    if (!cache || (!cache->find_index(gain) && !cache->find_index(offset)))
        return at::layer_norm(x, gain.sizes(), gain, offset, epsilon);
    return recorded_layer_norm::apply(cache->anchor(), x, gain, offset, epsilon, cache);
}

}  // namespace rldp::models
