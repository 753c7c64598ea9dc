#include "models/unit_gradients.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>

namespace rldp::models {

std::vector<std::vector<std::size_t>> plan_chunks(std::span<const unit_sequences> units, std::int64_t micro_batch) {
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

std::size_t passes_of(std::span<const unit_sequences> units, const std::vector<std::size_t>& chunk,
                      std::int64_t micro_batch) {
    std::size_t records = 0;
    for (const auto unit : chunk) records += units[unit].size();
    const auto most = static_cast<std::size_t>(micro_batch);
    return (records + most - 1) / most;
}

record_gradients unit_gradients(const causal_lm& model, const lora_layout& layout, const at::Tensor& adapter,
                                std::span<const unit_sequences> units, const std::vector<std::size_t>& chunk,
                                std::int64_t micro_batch, const dropout_factory& dropout, std::size_t first_pass) {
    std::vector<sequence> records;
    std::vector<std::int64_t> owner;  // row of the chunk that a record belongs to
    for (std::size_t row = 0; row < chunk.size(); ++row) {
        for (const auto& record : units[chunk[row]]) {
            records.push_back(record);
            owner.push_back(static_cast<std::int64_t>(row));
        }
    }
    const auto pass = [&](std::size_t begin, std::size_t end) {
        const auto batch = make_batch(
            {records.begin() + static_cast<std::ptrdiff_t>(begin), records.begin() + static_cast<std::ptrdiff_t>(end)});
        return model.gradients(batch, layout, adapter, dropout ? dropout(first_pass++) : dropout_source{});
    };
    if (records.size() == chunk.size() && static_cast<std::int64_t>(records.size()) <= micro_batch)
        return pass(0, records.size());

    const auto rows = static_cast<std::int64_t>(chunk.size());
    record_gradients units_out{torch::zeros({rows, layout.dimension}, adapter.options()),
                               torch::zeros({rows}, torch::kFloat64)};
    for (std::size_t begin = 0; begin < records.size(); begin += static_cast<std::size_t>(micro_batch)) {
        const auto end = std::min(records.size(), begin + static_cast<std::size_t>(micro_batch));
        const auto part = pass(begin, end);
        for (std::size_t i = begin; i < end; ++i) {
            const auto row = static_cast<std::size_t>(owner[i]);
            const double weight = 1.0 / static_cast<double>(units[chunk[row]].size());
            units_out.gradients[owner[i]].add_(part.gradients[static_cast<std::int64_t>(i - begin)], weight);
            units_out.losses[owner[i]].add_(part.losses[static_cast<std::int64_t>(i - begin)], weight);
        }
    }
    return units_out;
}

}  // namespace rldp::models
