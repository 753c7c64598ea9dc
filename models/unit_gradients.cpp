#include "models/unit_gradients.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace rldp::models {

std::vector<unit_records> view_units(const std::vector<std::vector<sequence>>& units) {
    std::vector<unit_records> out;
    for (const auto& unit : units) out.emplace_back(unit.begin(), unit.end());
    return out;
}

std::vector<std::vector<std::size_t>> plan_chunks(std::span<const unit_records> units, std::int64_t micro_batch) {
    const auto longest = [&](std::size_t unit) {
        std::size_t most = 0;
        for (const auto& record : units[unit]) most = std::max(most, record.size());
        return most;
    };
    std::vector<std::size_t> order(units.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return longest(a) > longest(b); });

    std::vector<std::vector<std::size_t>> chunks;
    std::int64_t records = 0;
    for (const auto unit : order) {
        const auto size = static_cast<std::int64_t>(units[unit].size());
        if (chunks.empty() || records + size > micro_batch) {
            chunks.emplace_back();
            records = 0;
        }
        chunks.back().push_back(unit);
        records += size;
    }
    return chunks;
}

std::vector<std::vector<std::size_t>> plan_padded_chunks(std::size_t units, const unit_shape& shape,
                                                         std::int64_t micro_batch) {
    const auto together = static_cast<std::size_t>(std::max<std::int64_t>(1, micro_batch / shape.records));
    std::vector<std::vector<std::size_t>> chunks;
    for (std::size_t begin = 0; begin < units; begin += together) {
        auto& chunk = chunks.emplace_back(std::min(together, units - begin));
        std::iota(chunk.begin(), chunk.end(), begin);
    }
    return chunks;
}

namespace {

/// A chunk's records, each with the row of the unit that it belongs to; a dummy is an empty sequence.
struct chunk_records {
    std::vector<token_span> records;
    std::vector<std::int64_t> owner;
};

chunk_records list_records(std::span<const unit_records> units, const std::vector<std::size_t>& chunk,
                           std::int64_t at_least) {
    chunk_records out;
    for (std::size_t row = 0; row < chunk.size(); ++row) {
        const auto& records = units[chunk[row]];
        out.records.insert(out.records.end(), records.begin(), records.end());
        if (std::ssize(records) < at_least)
            out.records.resize(out.records.size() + static_cast<std::size_t>(at_least) - records.size());
        out.owner.resize(out.records.size(), static_cast<std::int64_t>(row));
    }
    return out;
}

batch_rule make_batch_rule(const chunk_rule& how) {
    return {how.shape ? std::optional(how.shape->tokens) : std::nullopt, how.value_weight, how.answers_only};
}

/// What each of a unit's records counts; a dummy's gradient and loss are zero, whatever it counts.
double share_of_record(const unit_records& unit) {
    return 1.0 / static_cast<double>(std::max<std::size_t>(1, unit.size()));
}

}  // namespace

record_gradients unit_gradients(const causal_lm& model, const lora_layout& layout, const at::Tensor& adapter,
                                std::span<const unit_records> units, const std::vector<std::size_t>& chunk,
                                const chunk_rule& how, const dropout_factory& dropout) {
    const auto micro_batch = how.micro_batch;
    const auto batching = make_batch_rule(how);
    const auto held = list_records(units, chunk, how.shape ? how.shape->records : 0);
    const auto& records = held.records;  // no structured binding: clang before 16 lets no lambda capture one
    const auto& owner = held.owner;
    const auto pass = [&](std::size_t begin, std::size_t end) {
        const auto some = std::span(records).subspan(begin, end - begin);
        return model.gradients(make_batch(some, batching), layout, adapter, dropout ? dropout(some) : dropout_source{},
                               how.between);
    };
    const bool one_each = std::all_of(chunk.begin(), chunk.end(), [&](auto unit) { return units[unit].size() == 1; });
    if (one_each && records.size() == chunk.size() && static_cast<std::int64_t>(records.size()) <= micro_batch)
        return pass(0, records.size());

    const auto rows = static_cast<std::int64_t>(chunk.size());
    record_gradients units_out{at::zeros({rows, layout.dimension}, adapter.options()),
                               at::zeros({rows}, adapter.options().dtype(at::kDouble))};
    for (std::size_t begin = 0; begin < records.size(); begin += static_cast<std::size_t>(micro_batch)) {
        const auto end = std::min(records.size(), begin + static_cast<std::size_t>(micro_batch));
        const auto part = pass(begin, end);
        for (std::size_t i = begin; i < end; ++i) {
            const auto row = static_cast<std::size_t>(owner[i]);
            const double weight = share_of_record(units[chunk[row]]);
            units_out.gradients[owner[i]].add_(part.gradients[static_cast<std::int64_t>(i - begin)], weight);
            units_out.losses[owner[i]].add_(part.losses[static_cast<std::int64_t>(i - begin)], weight);
        }
    }
    return units_out;
}

tensor_unit_gradients compute_tensor_gradients(const causal_lm& model, const lora_layout& layout,
                                               const at::Tensor& flat, std::span<const unit_records> units,
                                               const std::vector<std::size_t>& chunk, const chunk_rule& how) {
    const auto held = list_records(units, chunk, how.shape ? how.shape->records : 0);
    std::vector<std::int64_t> first_record{0};
    std::vector<double> shares;
    for (std::size_t i = 0; i < held.owner.size(); ++i) {
        const auto row = static_cast<std::size_t>(held.owner[i]);
        first_record.resize(row + 1, static_cast<std::int64_t>(i));
        shares.push_back(share_of_record(units[chunk[row]]));
    }
    first_record.resize(chunk.size() + 1, std::ssize(held.owner));
    require(!held.records.empty(), "a chunk without a record");
    auto made =
        model.gradients_of_units(make_batch(held.records, make_batch_rule(how)), layout, flat, first_record, shares);
    const auto rows = std::ssize(chunk);
    const auto losses = made.losses * at::tensor(shares, at::kDouble).to(made.losses.device());
    const auto owner = at::tensor(held.owner, at::kLong).to(made.losses.device());
    return {std::move(made.units), at::zeros({rows}, losses.options()).index_add_(0, owner, losses)};
}

at::Tensor unit_losses(const causal_lm& model, const lora_layout& layout, const at::Tensor& adapter,
                       std::span<const unit_records> units, const std::vector<std::size_t>& chunk,
                       const chunk_rule& how) {
    const auto held = list_records(units, chunk, how.shape ? how.shape->records : 0);
    const auto most = static_cast<std::size_t>(how.micro_batch);
    auto out = at::zeros({static_cast<std::int64_t>(chunk.size())}, adapter.options().dtype(at::kDouble));
    for (std::size_t begin = 0; begin < held.records.size(); begin += most) {
        const auto some = std::span(held.records).subspan(begin, std::min(most, held.records.size() - begin));
        const auto losses = model.record_losses(make_batch(some, make_batch_rule(how)), layout, adapter);
        for (std::size_t i = 0; i < some.size(); ++i) {
            const auto row = held.owner[begin + i];
            out[row].add_(losses[static_cast<std::int64_t>(i)],
                          share_of_record(units[chunk[static_cast<std::size_t>(row)]]));
        }
    }
    return out;
}

}  // namespace rldp::models
