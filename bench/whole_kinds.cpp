#include "bench/whole_kinds.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <numeric>
#include <optional>

#include "bench/timing.hpp"
#include "models/device.hpp"
#include "privacy/mechanism/statistics.hpp"
#include "run/factories.hpp"
#include "run/step_gradients.hpp"
#include "tests/support/charges.hpp"

namespace rldp::bench {

namespace {

constexpr double rate = 1e-4;

std::vector<privacy::segment> segments_for(const models::lora_layout& layout, bool flat) {
    return actors::make_segments(flat ? clip_grouping::flat : clip_grouping::adapters, layout);
}

std::vector<std::vector<models::sequence>> random_units(const step_shape& shape, std::int64_t vocabulary) {
    const auto ids = at::randint(vocabulary, {shape.batch, shape.length}, at::kInt);
    std::vector<std::vector<models::sequence>> out;
    for (std::int64_t i = 0; i < shape.batch; ++i) {
        const auto* const first = ids[i].data_ptr<std::int32_t>();
        out.push_back({models::sequence(first, first + shape.length)});
    }
    return out;
}

}  // namespace

whole_kinds::whole_kinds(const step_shape& shape, const std::vector<std::string>& parameters, bool flat)
    : shape_(shape),
      described_(make_shape(shape.model)),
      weights_(make_random_weights(described_, at::TensorOptions().dtype(at::kFloat))),
      layout_(models::make_tensor_layout(described_, parameters)),
      units_(random_units(shape, described_.vocab)),
      optimizer_(models::flatten_tensors(layout_.tensors, weights_)),
      sanitizer_({.segments = segments_for(layout_, flat)}, key_),
      groups_(privacy::sizes_of_groups(segments_for(layout_, flat)).size()) {
    models::choose_threads(described_, shape.threads);
    for (const auto& tensor : layout_.tensors)  // the same numbers, held once
        weights_.at(tensor.name) = models::view_part(optimizer_.parameters(), tensor);
    model_ = models::causal_lm::from_weights(described_, weights_);
}

void whole_kinds::ordinary() {
    const at::AutoGradMode recording(true);
    const auto gradient = at::zeros_like(optimizer_.parameters());
    auto weights = weights_;
    for (const auto& tensor : layout_.tensors) {
        auto& leaf = weights.at(tensor.name);
        leaf = models::view_part(optimizer_.parameters(), tensor).detach().requires_grad_();
        leaf.mutable_grad() = models::view_part(gradient, tensor);
    }
    std::vector<models::sequence> records;
    for (const auto& unit : units_) records.push_back(unit.front());
    models::causal_lm::from_weights(described_, std::move(weights))
        ->training_loss(models::make_batch(records))
        .backward();
    optimizer_.step(gradient, rate);
}

models::tensor_unit_gradients whole_kinds::made() const {
    std::vector<std::size_t> all(units_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto views = models::view_units(units_);
    return models::compute_tensor_gradients(*model_, layout_, optimizer_.parameters(), views, all,
                                            {.micro_batch = shape_.batch});
}

void whole_kinds::begin() {
    privacy::statistics_frame frame;
    frame.trackers.assign(groups_, {0.05, 0.1, 0.2});
    privacy::step_terms terms;
    terms.radii.assign(groups_, 0.1);
    terms.measured = privacy::measure_statistics(frame);
    terms.measurement_multiplier = privacy::measurement_multiplier(0.65, 0.02);
    sanitizer_.begin({testing::charged_at(++seq_, 0.65), terms});
}

void whole_kinds::private_step() {
    begin();
    {
        auto units = made();
        const auto losses = units.losses;
        sanitizer_.add({{}, losses, 0, actors::as_parts(std::move(units.gradients))});
    }
    optimizer_.step(sanitizer_.finish().gradient.div_(shape_.batch), rate);
}

std::map<std::string, double> whole_kinds::private_parts() {
    std::map<std::string, double> parts;
    const at::Device device(at::kCPU);
    begin();
    std::optional<models::tensor_unit_gradients> units;
    parts["forward and backward"] = measure_milliseconds(device, [&] { units.emplace(made()); });
    const auto losses = units->losses;
    const auto kept = actors::as_parts(std::move(units->gradients));
    parts["norms"] = measure_milliseconds(device, [&] { kept->norm_bounds(); });
    parts["norms, clip and sum"] = measure_milliseconds(device, [&] { sanitizer_.add({{}, losses, 0, kept}); });
    std::optional<privacy::release> out;
    parts["noise"] = measure_milliseconds(device, [&] { out = sanitizer_.finish(); });
    parts["AdamW"] = measure_milliseconds(device, [&] { optimizer_.step(out->gradient.div_(shape_.batch), rate); });
    return parts;
}

}  // namespace rldp::bench
