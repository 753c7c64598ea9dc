#include "privacy/mechanism/sanitizer.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/base/require.hpp"

namespace rldp::privacy {

namespace {

constexpr double grid_of = 0x1p-20;  // the public grid, in standard deviations

/// Adds deviation times standard normals, and rounds to the public grid s·2⁻²⁰: beyond it the low bits of a double
/// could tell about the sum.
template <class T>
void noise_and_round(const double* sum, const double* noise, T* out, std::int64_t count, double deviation) {
    const double grid = deviation * grid_of;
    for (std::int64_t at = 0; at < count; ++at)
        out[at] = static_cast<T>(std::nearbyint((sum[at] + deviation * noise[at]) / grid) * grid);
}

/// Where each segment begins, and the end.
std::vector<std::int64_t> offsets_of(const std::vector<segment>& segments) {
    std::vector<std::int64_t> offsets{0};
    for (const auto& part : segments) offsets.push_back(offsets.back() + part.size);
    return offsets;
}

}  // namespace

double multiplier_of(const sanitizer_config& config, const charge& charged) {
    const double z = charged->noise_multiplier;
    return config.as_published ? z / std::sqrt(static_cast<double>(sizes_of_groups(config.segments).size())) : z;
}

std::vector<double> noise_of(const sanitizer_config& config, const charge& charged, const step_terms& terms) {
    // As published, s_i = σ·C_i: what `proportional` gives for the multiplier that really results, z_g = σ/√n.
    const auto how = config.as_published ? allocation::proportional : config.how;
    return noise_standard_deviations(
        how, gradient_multiplier(multiplier_of(config, charged), terms.measurement_multiplier),
        sensitivities(terms.rule, terms.radii, config.rounding_margin), sizes_of_groups(config.segments), terms.shares);
}

sanitizer::sanitizer(sanitizer_config config, run_key key, std::shared_ptr<reducer> over)
    : config_(std::move(config)),
      key_(std::move(key)),
      group_sizes_(sizes_of_groups(config_.segments)),
      over_(std::move(over)) {
    require(!over_ || !config_.as_published, "sanitizer: raw statistics are of one process's units");
}

void sanitizer::begin(const step_order& order) {
    const charge& charged = order.charged;
    const step_terms& terms = order.terms;
    require(charged->seq > last_seq_, "sanitizer: a ledger seq must be new at every step");
    require(!terms.shape || group_sizes_.size() == 1, "sanitizer: a geometry clips the whole gradient as one group");
    require(static_cast<bool>(terms.measured) == std::isfinite(terms.measurement_multiplier),
            "sanitizer: a measurement and its multiplier come together");
    deviations_ = noise_of(config_, charged, terms);
    check_charge(order);
    sum_.emplace(config_.segments, terms);  // refuses a measurement that does not fit before anything is drawn
    order_ = order;
    last_seq_ = charged->seq;
    noise_ = standard_noise();
    raw_norms_.clear();
    raw_losses_.clear();
}

void sanitizer::check_charge(const step_order& order) const {
    const double expected = multiplier_of(config_, order.charged);
    const auto bounds = sensitivities(order.terms.rule, order.terms.radii, config_.rounding_margin);
    // Worked out again from the deviations that the noise will have, not from the rule that made them.
    const double joint =
        std::hypot(1 / effective_multiplier(bounds, deviations_), 1 / order.terms.measurement_multiplier);
    if (!(std::abs(joint * expected - 1) < 1e-9))
        bug(fmt::format("sanitizer: step {}: the noise amounts to multiplier {}, {} was charged", order.charged->step,
                        1 / joint, expected));
}

void sanitizer::add(const unit_gradients& batch) {
    require(sum_.has_value(), "sanitizer: no step was begun");
    const auto seen = sum_->add(batch);
    if (config_.as_published) {
        raw_norms_.push_back(seen.norms);
        raw_losses_.push_back(seen.losses);
    }
}

at::Tensor sanitizer::standard_noise() {
    const auto offsets = offsets_of(config_.segments);
    auto out = at::empty({offsets.back()}, at::kDouble);
    const auto draw = [&](std::size_t stream, std::int64_t begin, std::int64_t end) {
        random_stream(key_, purpose::noise, order_->charged->seq, stream)
            .normals({out.data_ptr<double>() + begin, static_cast<std::size_t>(end - begin)});
    };
    if (order_->terms.shape) {
        draw(0, 0, offsets.back());
        return out;
    }
    // A stream per segment: the numbers don't depend on the number of threads.
    at::parallel_for(0, std::ssize(config_.segments), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            draw(i, offsets[i], offsets[i + 1]);
    });
    return out;
}

at::Tensor sanitizer::noised(const at::Tensor& sum, const at::Tensor& noise) const {
    auto out = at::empty_like(sum, at::kFloat);
    const auto offsets = offsets_of(config_.segments);
    at::parallel_for(0, std::ssize(config_.segments), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            noise_and_round(sum.data_ptr<double>() + offsets[i], noise.data_ptr<double>() + offsets[i],
                            out.data_ptr<float>() + offsets[i], config_.segments[i].size,
                            deviations_[config_.segments[i].group]);
    });
    return out;
}

at::Tensor sanitizer::noised_in_shape(const at::Tensor& sum, const at::Tensor& white) const {
    const auto noise = order_->terms.shape->colour(white) * deviations_.front();
    const auto grid = order_->terms.shape->deviations() * (deviations_.front() * grid_of);
    return (((sum + noise) / grid).round_() * grid).to(at::kFloat);
}

release sanitizer::finish() {
    const at::NoGradGuard no_grad;
    require(sum_.has_value(), "sanitizer: no step was begun");
    auto mine = std::exchange(sum_, std::nullopt);
    auto numbers = mine->numbers();
    if (over_)
        over_->reduce(order_->charged->seq,
                      {numbers.data_ptr<std::int64_t>(), static_cast<std::size_t>(numbers.numel())});
    const auto [sum, measured] = mine->of(numbers);
    numbers.reset();  // as large as the sum
    mine.reset();
    const auto& terms = order_->terms;
    const auto noise = std::exchange(noise_, {});
    release out{order_->charged, terms.shape ? noised_in_shape(sum, noise) : noised(sum, noise), {}, {}};
    if (terms.measured) {
        random_stream stream(key_, purpose::noise, order_->charged->seq, config_.segments.size());
        out.statistics.resize(measured.size());
        const double sensitivity = terms.measured->sensitivity() * (1 + config_.rounding_margin);
        std::vector<double> of_statistics(measured.size());
        stream.normals(of_statistics);
        noise_and_round(measured.data(), of_statistics.data(), out.statistics.data(), std::ssize(measured),
                        terms.measurement_multiplier * sensitivity);
    }
    if (config_.as_published) {
        const auto none = at::zeros({0, static_cast<std::int64_t>(group_sizes_.size())}, at::kDouble);
        raw_ = raw_norms_.empty() ? raw_statistics_of(none, none)
                                  : raw_statistics_of(at::cat(raw_norms_), at::cat(raw_losses_));
    }
    return out;
}

}  // namespace rldp::privacy
