#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "config/open_keys.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/statistics.hpp"
#include "run/plan.hpp"
#include "run/rounding.hpp"
#include "run/session.hpp"
#include "run/step_gradients.hpp"

namespace rldp::actors {

namespace {

constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

/// Parts of whom one unit counts as zero.
class parts_without final : public privacy::gradient_parts {
  public:
    parts_without(std::shared_ptr<const privacy::gradient_parts> all, std::int64_t unit)
        : all_(std::move(all)), unit_(unit) {}
    std::int64_t units() const override { return all_->units(); }
    const std::vector<std::int64_t>& sizes() const override { return all_->sizes(); }
    at::Tensor norm_bounds() const override {
        auto out = all_->norm_bounds();
        out[unit_].fill_(std::numeric_limits<double>::infinity());
        return out;
    }
    void show(const std::vector<bool>& wanted, const viewer& see) const override { all_->show(wanted, see); }

  private:
    std::shared_ptr<const privacy::gradient_parts> all_;
    std::int64_t unit_;
};

/// The rows of all but one of so many.
at::Tensor others(std::int64_t count, std::size_t left_out) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < count; ++i)
        if (static_cast<std::size_t>(i) != left_out) rows.push_back(i);
    return at::tensor(rows);
}

/// The larger; what is no number is no evidence of anything small.
double worse(double a, double b) {
    return std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

}  // namespace

void rounding_effect::raise(const rounding_effect& other) {
    gradient = worse(gradient, other.gradient);
    statistics = worse(statistics, other.statistics);
}

company_probe::company_probe(std::shared_ptr<const models::causal_lm> model, models::lora_layout layout, bool apart,
                             std::int64_t micro_batch, std::int64_t longest, std::uint64_t seed)
    : model_(std::move(model)),
      layout_(std::move(layout)),
      apart_(apart),
      micro_batch_(micro_batch),
      longest_(longest),
      random_(seed) {
    layout_.config.dropout = 0;  // which mask a unit gets is another matter: its law stays
    std::vector<std::int64_t> sizes;
    for (const auto& pair : layout_.pairs) sizes.push_back(pair.size);
    for (const auto& tensor : layout_.tensors) sizes.push_back(tensor.size);
    segments_ = privacy::make_segments(sizes);
}

rounding_effect company_probe::compare(const at::Tensor& adapter, std::size_t batch,
                                       const std::shared_ptr<const privacy::geometry>& shape) {
    auto units = draw(batch);
    auto with = units;
    const auto extra = draw(1).front();
    const auto place = random_() % (units.size() + 1);
    with.insert(with.begin() + static_cast<std::ptrdiff_t>(place), extra);
    return effect(computed(adapter, units), computed(adapter, with), place, shape);
}

std::vector<std::vector<models::sequence>> company_probe::draw(std::size_t count) {
    std::vector<std::vector<models::sequence>> out;
    for (std::size_t i = 0; i < count; ++i) {
        models::sequence tokens(2 + random_() % static_cast<std::uint64_t>(longest_ - 1));
        for (auto& token : tokens)
            token = static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(model_->config().vocab));
        out.push_back({std::move(tokens)});
    }
    return out;
}

company_probe::company company_probe::computed(const at::Tensor& adapter,
                                               const std::vector<std::vector<models::sequence>>& held) const {
    const auto units = models::view_units(held);
    company out{{}, at::zeros({std::ssize(units)}, at::kDouble), {}};
    if (!layout_.trains_base()) out.gradients = at::zeros({std::ssize(units), layout_.dimension}, adapter.options());
    for (const auto& chunk : models::plan_chunks(units, apart_ ? 1 : micro_batch_)) {
        const auto rows = at::tensor(std::vector<std::int64_t>(chunk.begin(), chunk.end()));
        if (layout_.trains_base()) {
            auto made = models::compute_tensor_gradients(*model_, layout_, adapter, units, chunk, {micro_batch_});
            out.losses.index_copy_(0, rows, made.losses.to(at::kCPU));
            out.parts.emplace_back(chunk, actors::as_parts(std::move(made.gradients)));
            continue;
        }
        const auto made = models::unit_gradients(*model_, layout_, adapter, units, chunk, {micro_batch_});
        out.gradients.index_copy_(0, rows.to(adapter.device()), made.gradients);
        out.losses.index_copy_(0, rows, made.losses.to(at::kCPU));
    }
    return out;
}

at::Tensor company_probe::compute_norms(const company& of, const privacy::geometry* shape) const {
    if (shape)
        return shape->norms(of.gradients.to(at::kDouble) - shape->centre().to(of.gradients.device()))
            .unsqueeze(1)
            .cpu();
    if (of.parts.empty()) return privacy::group_norms(of.gradients, segments_).norms.cpu();
    auto out = at::zeros({of.losses.size(0), std::ssize(segments_)}, at::kDouble);
    for (const auto& [chunk, parts] : of.parts)
        out.index_copy_(0, at::tensor(std::vector<std::int64_t>(chunk.begin(), chunk.end())),
                        privacy::group_bounds(*parts, segments_).norms);
    return out;
}

at::Tensor company_probe::compute_sum(const company& of, std::size_t left_out, const privacy::step_terms& terms) const {
    privacy::clipped_sum sum(terms.shape ? privacy::make_segments({layout_.dimension}) : segments_, terms);
    if (of.parts.empty()) {
        const auto rows = others(of.losses.size(0), left_out);
        sum.add({of.gradients.index_select(0, rows.to(of.gradients.device())), of.losses.index_select(0, rows), 0});
    }
    for (const auto& [chunk, parts] : of.parts) {
        const auto found = std::find(chunk.begin(), chunk.end(), left_out);
        auto shown = parts;
        if (found != chunk.end()) shown = std::make_shared<parts_without>(parts, found - chunk.begin());
        sum.add({{}, at::zeros({std::ssize(chunk)}, at::kDouble), 0, std::move(shown)});
    }
    return sum.take();
}

rounding_effect company_probe::effect(const company& alone, const company& beside, std::size_t extra,
                                      const std::shared_ptr<const privacy::geometry>& shape) const {
    const auto rows = others(beside.losses.size(0), extra);
    const auto norms = compute_norms(alone, shape.get()),
               other_norms = compute_norms(beside, shape.get()).index_select(0, rows);
    const auto losses = alone.losses, other_losses = beside.losses.index_select(0, rows);
    // Radii and trackers amid the norms, where they are while training: about half of the units are clipped.
    // Units that count as zero have no norm.
    constexpr double least = 1e-30;
    const auto finite = at::where(norms.isfinite(), norms, at::zeros_like(norms));
    const auto medians = std::get<0>(finite.median(0)).clamp_min(least).contiguous();
    privacy::step_terms terms;
    terms.shape = shape;
    terms.radii.assign(medians.data_ptr<double>(), medians.data_ptr<double>() + medians.numel());
    privacy::statistics_frame frame;
    for (const double radius : terms.radii) frame.trackers.push_back({0.8 * radius, radius, 1.2 * radius});
    frame.loss_centre = at::where(losses.isfinite(), losses, at::zeros_like(losses)).mean().item<double>();
    frame.norm_range = 2 * medians.max().item<double>();

    rounding_effect out;
    const auto gap = compute_sum(alone, nobody, terms) - compute_sum(beside, extra, terms);
    if (shape) out.gradient = worse(0, shape->norms(gap.unsqueeze(0)).item<double>() / terms.radii.front());
    std::int64_t offset = 0;
    for (std::size_t i = 0; !shape && i < segments_.size(); offset += segments_[i].size, ++i)
        out.gradient =
            worse(out.gradient, gap.narrow(0, offset, segments_[i].size).norm().item<double>() / terms.radii[i]);
    const auto a = privacy::statistics_sum(norms, losses, frame);
    const auto b = privacy::statistics_sum(other_norms, other_losses, frame);
    for (std::size_t j = 0; j < a.sum.size(); ++j) out.statistics += std::pow(a.sum[j] - b.sum[j], 2);
    out.statistics = std::sqrt(out.statistics) / a.sensitivity;
    return out;
}

namespace {

constexpr auto probed_units = static_cast<std::size_t>(config::probed_units);

}  // namespace

rounding_watch watch_with(const std::shared_ptr<company_probe>& probe, std::int64_t every, double margin,
                          std::size_t batch) {
    return [=](std::int64_t step, const at::Tensor& adapter, const std::shared_ptr<const privacy::geometry>& shape) {
        if ((step - 1) % every != 0) return;
        // The errors of different units are independent of each other: their sum grows as the root of their number.
        const double scale = std::sqrt(std::max(1.0, static_cast<double>(batch) / static_cast<double>(probed_units)));
        const auto seen = probe->compare(adapter, probed_units, shape);
        const double worst = scale * std::max(seen.gradient, seen.statistics);
        if (worst <= margin / 5) return;
        throw error(errc::failed,
                    fmt::format("rounding: before step {}, one more made-up unit moves the others' sum by {:.2g} of a "
                                "clip radius, and {:g} is charged; no step is made with it. Lower train.lr, or run on "
                                "device cpu, where units don't move each other",
                                step, worst, margin));
    };
}

rounding_watch make_rounding_watch(const session& run) {
    const auto every =
        config::steps_between_probes(run.spec.device, run.spec.privacy.semantics, run.spec.train.expected_batch_size);
    if (every == 0) return {};
    const auto settings = make_gradient_settings(run);
    const auto probe =
        std::make_shared<company_probe>(run.model.base, run.model.layout, settings.apart, settings.micro_batch,
                                        run.plan.max_tokens, static_cast<std::uint64_t>(run.spec.data.split_seed));
    return watch_with(probe, every, run.plan.rounding_margin,
                      static_cast<std::size_t>(run.spec.train.expected_batch_size));
}

}  // namespace rldp::actors
