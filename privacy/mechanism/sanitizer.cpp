#include "privacy/mechanism/sanitizer.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "config/base/require.hpp"

namespace rldp::privacy {

namespace {

constexpr double grid_of = 0x1p-20;  // the public grid, in standard deviations

/// Adds Gaussian noise and rounds to the public grid s·2⁻²⁰: beyond it the low bits of a double could tell about the
/// sum. `stream` must not have been used.
template <class T>
void noise_and_round(const double* sum, T* out, std::int64_t count, double deviation, random_stream& stream) {
    const double grid = deviation * grid_of;
    std::array<double, 4096> noise;
    for (std::int64_t at = 0; at < count; at += std::ssize(noise)) {
        const auto n = static_cast<std::size_t>(std::min<std::int64_t>(count - at, std::ssize(noise)));
        stream.normals(std::span(noise).first(n));
        for (std::size_t j = 0; j < n; ++j) {
            const double noised = sum[at + static_cast<std::int64_t>(j)] + deviation * noise[j];
            out[at + static_cast<std::int64_t>(j)] = static_cast<T>(std::nearbyint(noised / grid) * grid);
        }
    }
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

at::Tensor sanitizer::noised(const at::Tensor& sum) {
    auto out = at::empty_like(sum, at::kFloat);
    const auto& segments = config_.segments;
    std::vector<std::int64_t> offsets{0};
    for (const auto& part : segments) offsets.push_back(offsets.back() + part.size);
    // A stream per segment: the numbers don't depend on the number of threads.
    at::parallel_for(0, std::ssize(segments), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
            random_stream stream(key_, purpose::noise, order_->charged->seq, i);
            noise_and_round(sum.data_ptr<double>() + offsets[i], out.data_ptr<float>() + offsets[i], segments[i].size,
                            deviations_[segments[i].group], stream);
        }
    });
    return out;
}

at::Tensor sanitizer::noised_in_shape(const at::Tensor& sum) {
    auto white = at::empty_like(sum);
    random_stream stream(key_, purpose::noise, order_->charged->seq, 0);
    stream.normals({white.data_ptr<double>(), static_cast<std::size_t>(white.numel())});
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
    release out{order_->charged, terms.shape ? noised_in_shape(sum) : noised(sum), {}, {}};
    if (terms.measured) {
        random_stream stream(key_, purpose::noise, order_->charged->seq, config_.segments.size());
        out.statistics.resize(measured.size());
        const double sensitivity = terms.measured->sensitivity() * (1 + config_.rounding_margin);
        noise_and_round(measured.data(), out.statistics.data(), std::ssize(measured),
                        terms.measurement_multiplier * sensitivity, stream);
    }
    if (config_.as_published) {
        const auto none = at::zeros({0, static_cast<std::int64_t>(group_sizes_.size())}, at::kDouble);
        raw_ = raw_norms_.empty() ? raw_statistics_of(none, none)
                                  : raw_statistics_of(at::cat(raw_norms_), at::cat(raw_losses_));
    }
    return out;
}

}  // namespace rldp::privacy
