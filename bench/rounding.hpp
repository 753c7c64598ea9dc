#pragma once
// By how much one more unit in a draw moves the other units' clipped sum and statistics: other company in a
// micro-batch, other shapes, other last bits. In exact arithmetic by nothing (docs/privacy.md §6).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "models/unit_gradients.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/statistics.hpp"

namespace rldp::bench {

struct rounding_effect {
    double gradient = 0;    ///< L2, in radii: the largest over groups
    double statistics = 0;  ///< L2, in sensitivities Δ
    void raise(const rounding_effect& other) {
        gradient = std::max(gradient, other.gradient);
        statistics = std::max(statistics, other.statistics);
    }
};

class rounding_probe {
  public:
    rounding_probe(std::shared_ptr<const models::causal_lm> model, models::lora_layout layout, at::Tensor adapter,
                   std::int64_t micro_batch, std::int64_t longest, std::uint64_t seed)
        : model_(std::move(model)),
          layout_(std::move(layout)),
          adapter_(std::move(adapter)),
          micro_batch_(micro_batch),
          longest_(longest),
          random_(seed) {
        layout_.config.dropout = 0;  // which mask a unit gets is another matter: its law stays
        std::vector<std::int64_t> sizes;
        for (const auto& pair : layout_.pairs) sizes.push_back(pair.size);
        for (const auto& tensor : layout_.tensors) sizes.push_back(tensor.size);
        segments_ = privacy::segments_of(sizes);
    }

    /// Every unit in passes of its own, as where actors::computes_apart.
    void compute_apart() { apart_ = true; }

    /// One draw of `batch` units and its neighbour with one more.
    rounding_effect compare(std::size_t batch) {
        auto units = draw(batch);
        auto with = units;
        const auto extra = draw(1).front();
        const auto place = random_() % (units.size() + 1);
        with.insert(with.begin() + static_cast<std::ptrdiff_t>(place), extra);
        const auto alone = computed(units), beside = computed(with);
        std::vector<std::int64_t> others;
        for (std::size_t i = 0; i < with.size(); ++i)
            if (i != place) others.push_back(static_cast<std::int64_t>(i));
        const auto rows = at::tensor(others);
        return effect(alone.gradients, alone.losses, beside.gradients.index_select(0, rows.to(adapter_.device())),
                      beside.losses.index_select(0, rows.to(beside.losses.device())));
    }

  private:
    std::vector<std::vector<models::sequence>> draw(std::size_t count) {
        std::vector<std::vector<models::sequence>> out;
        for (std::size_t i = 0; i < count; ++i) {
            models::sequence tokens(2 + random_() % static_cast<std::uint64_t>(longest_ - 1));
            for (auto& token : tokens)
                token = static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(model_->config().vocab));
            out.push_back({std::move(tokens)});
        }
        return out;
    }

    models::record_gradients computed(const std::vector<std::vector<models::sequence>>& held) const {
        const auto units = models::views_of(held);
        models::record_gradients out{at::zeros({std::ssize(units), layout_.dimension}, adapter_.options()),
                                     at::zeros({std::ssize(units)}, at::kDouble)};
        for (const auto& chunk : models::plan_chunks(units, apart_ ? 1 : micro_batch_)) {
            const auto made = layout_.is_whole()
                                  ? multiplied_out(units, chunk)
                                  : models::unit_gradients(*model_, layout_, adapter_, units, chunk, {micro_batch_});
            for (std::size_t row = 0; row < chunk.size(); ++row) {
                const auto unit = static_cast<std::int64_t>(chunk[row]);
                out.gradients[unit].copy_(made.gradients[static_cast<std::int64_t>(row)]);
                out.losses[unit].copy_(made.losses[static_cast<std::int64_t>(row)]);
            }
        }
        return out;
    }

    /// Rows of what a run shows its clipper part by part.
    models::record_gradients multiplied_out(const std::vector<models::unit_records>& units,
                                            const std::vector<std::size_t>& chunk) const {
        const auto made = models::gradients_of_whole(*model_, layout_, adapter_, units, chunk, {micro_batch_});
        models::record_gradients out{at::zeros({std::ssize(chunk), layout_.dimension}, adapter_.options()),
                                     made.losses};
        made.gradients.each(std::vector<bool>(chunk.size(), true),
                            [&](std::int64_t unit, std::int64_t offset, const at::Tensor& numbers) {
                                out.gradients[unit].narrow(0, offset, numbers.numel()).copy_(numbers);
                            });
        return out;
    }

    rounding_effect effect(const at::Tensor& gradients, const at::Tensor& losses, const at::Tensor& other_gradients,
                           const at::Tensor& other_losses) const {
        const auto norms = privacy::group_norms(gradients, segments_).norms.cpu();
        const auto other_norms = privacy::group_norms(other_gradients, segments_).norms.cpu();
        // Radii and trackers amid the norms, where they are while training: about half of the units are clipped.
        const auto medians = std::get<0>(norms.median(0)).contiguous();
        privacy::step_terms terms;
        terms.radii.assign(medians.data_ptr<double>(), medians.data_ptr<double>() + medians.numel());
        privacy::statistics_frame frame;
        for (const double radius : terms.radii) frame.trackers.push_back({0.8 * radius, radius, 1.2 * radius});
        frame.loss_centre = losses.mean().item<double>();
        frame.norm_range = 2 * medians.max().item<double>();

        rounding_effect out;
        const auto gap = sum_of(gradients, losses, terms) - sum_of(other_gradients, other_losses, terms);
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < segments_.size(); offset += segments_[i].size, ++i)
            out.gradient =
                std::max(out.gradient, gap.narrow(0, offset, segments_[i].size).norm().item<double>() / terms.radii[i]);
        const auto a = privacy::statistics_sum(norms, losses, frame);
        const auto b = privacy::statistics_sum(other_norms, other_losses, frame);
        for (std::size_t j = 0; j < a.sum.size(); ++j) out.statistics += std::pow(a.sum[j] - b.sum[j], 2);
        out.statistics = std::sqrt(out.statistics) / a.sensitivity;
        return out;
    }

    at::Tensor sum_of(const at::Tensor& gradients, const at::Tensor& losses, const privacy::step_terms& terms) const {
        privacy::clipped_sum sum(segments_, terms);
        sum.add({gradients, losses, 0});
        return sum.take();
    }

    std::shared_ptr<const models::causal_lm> model_;
    models::lora_layout layout_;
    at::Tensor adapter_;
    std::int64_t micro_batch_, longest_;
    bool apart_ = false;
    std::mt19937_64 random_;
    std::vector<privacy::segment> segments_;
};

}  // namespace rldp::bench
