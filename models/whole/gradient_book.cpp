#include "models/whole/gradient_book.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "config/base/require.hpp"

namespace rldp::models {

backward_cache::backward_cache(const std::vector<at::Tensor>& trained, unit_rows rows)
    : pages_(trained.size()), rows_(std::move(rows)) {
    require(!trained.empty(), "a book of no tensors");
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

}  // namespace rldp::models
