#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "privacy/keys/random_normals.hpp"
#include "privacy/mechanism/kernels.hpp"
#include "privacy/mechanism/sanitizer.hpp"

namespace rldp::privacy {

step_sum::step_sum(const std::vector<segment>& segments, const step_terms& terms)
    : coordinates_(count_coordinates(segments)),
      measured_(terms.measured),
      clipped_(segments, terms, (terms.measured ? static_cast<std::int64_t>(terms.measured->entries()) : 0) + 1) {
    if (!measured_) return;
    measurement_.assign(measured_->entries(), 0);
    std::vector<double> nobody(measured_->entries());
    measured_->add(at::zeros({0, std::ssize(sizes_of_groups(segments))}, at::kDouble),
                   at::zeros({0, 1 + std::ssize(terms.probes)}, at::kDouble), nobody);
}

double step_sum::measurement_grid() const {
    return measured_->sensitivity() / per_unit;
}

clipped_sum::seen step_sum::add(const unit_gradients& batch) {
    auto seen = clipped_.add(batch);
    if (!measured_) return seen;
    std::vector<double> phi(measurement_.size());
    measured_->add(seen.norms, seen.losses, phi);
    // Towards zero: where a unit is alone in its micro-batch, its vector gets no longer.
    for (std::size_t j = 0; j < phi.size(); ++j)
        measurement_[j] += static_cast<std::int64_t>(std::trunc(phi[j] / measurement_grid()));
    return seen;
}

at::Tensor step_sum::numbers() {
    auto out = clipped_.numbers();  // with room for the others
    std::copy(measurement_.begin(), measurement_.end(), out.data_ptr<std::int64_t>() + coordinates_);
    out[-1] = clipped_.units();
    return out;
}

step_sum::total step_sum::of(const at::Tensor& numbers) const {
    require(numbers.numel() == coordinates_ + std::ssize(measurement_) + 1, "sanitizer: a sum of another length");
    total out{numbers.narrow(0, 0, coordinates_), numbers[-1].item<std::int64_t>(), {}};
    for (std::size_t j = 0; j < measurement_.size(); ++j)
        out.measured.push_back(
            static_cast<double>(numbers.data_ptr<std::int64_t>()[static_cast<std::size_t>(coordinates_) + j]) *
            measurement_grid());
    return out;
}

namespace {

/// A step's noise of more numbers (128 MiB) is drawn when it is needed.
constexpr std::int64_t most_drawn_early = std::int64_t{1} << 24;
/// So many numbers are drawn at a time, which stay in the second-level cache.
constexpr std::int64_t drawn_at_a_time = std::int64_t{1} << 13;
static_assert(drawn_at_a_time % detail::normals_per_block == 0, "else pieces are other numbers than the whole");

}  // namespace

struct sanitizer::piece {
    std::size_t segment;
    std::int64_t within;  ///< where it begins in the segment
    std::int64_t begin;   ///< and among all coordinates
    std::int64_t size;
};

double compute_multiplier(const sanitizer_config& config, const charge& charged) {
    const double z = charged->noise_multiplier;
    return config.as_published ? z / std::sqrt(static_cast<double>(sizes_of_groups(config.segments).size())) : z;
}

std::vector<double> compute_noise_deviations(const sanitizer_config& config, const charge& charged,
                                             const step_terms& terms) {
    // As published, s_i = σ·C_i: what `proportional` gives for the multiplier that really results, z_g = σ/√n.
    const auto how = config.as_published ? allocation::proportional : config.how;
    return noise_standard_deviations(
        how, gradient_multiplier(compute_multiplier(config, charged), terms.measurement_multiplier),
        sensitivities(terms.rule, terms.radii, config.rounding_margin), sizes_of_groups(config.segments), terms.shares);
}

sanitizer::sanitizer(sanitizer_config config, run_key key, std::shared_ptr<reducer> over)
    : config_(std::move(config)),
      key_(std::move(key)),
      group_sizes_(sizes_of_groups(config_.segments)),
      correlated_(config_.bands, count_coordinates(config_.segments)),
      over_(std::move(over)) {
    require(!over_ || !config_.as_published, "sanitizer: raw statistics are of one process's units");
    require(config_.bands.size() == 1 || !config_.as_published, "sanitizer: the published noise has one band");
}

void sanitizer::begin(const step_order& order) {
    const charge& charged = order.charged;
    const step_terms& terms = order.terms;
    require(charged->seq > last_seq_, "sanitizer: a ledger seq must be new at every step");
    require(!terms.shape || group_sizes_.size() == 1, "sanitizer: a geometry clips the whole gradient as one group");
    require(static_cast<bool>(terms.measured) == std::isfinite(terms.measurement_multiplier),
            "sanitizer: a measurement and its multiplier come together");
    deviations_ = compute_noise_deviations(config_, charged, terms);
    check_charge(order);
    sum_.emplace(config_.segments, terms);  // refuses a measurement that does not fit before anything is drawn
    order_ = order;
    last_seq_ = charged->seq;
    correlated_.begin(charged->seq);
    noise_ = terms.shape || count_coordinates(config_.segments) <= most_drawn_early ? standard_noise() : at::Tensor();
    raw_norms_.clear();
    raw_losses_.clear();
}

void sanitizer::check_charge(const step_order& order) const {
    const double expected = compute_multiplier(config_, order.charged);
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

random_stream sanitizer::noise_stream(std::size_t stream) const {
    return random_stream(key_, purpose::noise, order_->charged->seq, stream);
}

// A stream per segment, gone on from where a piece begins: the numbers don't depend on the number of threads.
void sanitizer::for_each_piece(const std::function<void(const piece&)>& body) const {
    std::vector<piece> pieces;
    std::int64_t numbers = 0;
    for (std::size_t i = 0; i < config_.segments.size(); ++i) {
        const auto size = config_.segments[i].size;
        for (std::int64_t at = 0; at < size; at += drawn_at_a_time)
            pieces.push_back({i, at, numbers + at, std::min(drawn_at_a_time, size - at)});
        numbers += size;
    }
    // Less work is not worth another thread, which on a busy machine is waited for.
    constexpr std::int64_t numbers_drawn_by_a_thread = std::int64_t{1} << 15;
    const auto pieces_of_a_thread = std::ssize(pieces) * numbers_drawn_by_a_thread / numbers + 1;
    at::parallel_for(0, std::ssize(pieces), pieces_of_a_thread, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) body(pieces[i]);
    });
}

void sanitizer::draw(const piece& of, double* out) {
    const std::span to(out, static_cast<std::size_t>(of.size));
    auto stream = noise_stream(of.segment);
    stream.seek_normal(static_cast<std::uint64_t>(of.within));
    stream.normals(to);
    correlated_.correlate(of.begin, to);
}

at::Tensor sanitizer::standard_noise() {
    auto out = at::empty({count_coordinates(config_.segments)}, at::kDouble);
    auto* const to = out.data_ptr<double>();
    if (order_->terms.shape) {
        const std::span all(to, static_cast<std::size_t>(out.numel()));
        noise_stream(0).normals(all);
        correlated_.correlate(0, all);
    } else {
        for_each_piece([&](const piece& one) { draw(one, to + one.begin); });
    }
    return out;
}

at::Tensor sanitizer::noised(const at::Tensor& numbers, const std::vector<double>& steps, const at::Tensor& noise) {
    auto out = at::empty_like(numbers, at::kFloat);
    const auto* const from = numbers.data_ptr<std::int64_t>();
    auto* const to = out.data_ptr<float>();
    for_each_piece([&](const piece& one) {
        std::array<double, drawn_at_a_time> drawn;
        if (!noise.defined()) draw(one, drawn.data());
        const auto* const standard = noise.defined() ? noise.data_ptr<double>() + one.begin : drawn.data();
        detail::noise_and_round(from + one.begin, steps[one.segment], standard, to + one.begin, one.size,
                                deviations_[config_.segments[one.segment].group]);
    });
    return out;
}

at::Tensor sanitizer::noised_in_shape(const at::Tensor& sum, const at::Tensor& white) const {
    // Scaled after it is correlated: S_t·(C⁻¹z)_t (docs/privacy.md §14).
    const auto noise = order_->terms.shape->colour(white) * deviations_.front();
    const auto grid = order_->terms.shape->deviations() * (deviations_.front() * detail::public_grid);
    return (((sum + noise) / grid).round_() * grid).to(at::kFloat);
}

release sanitizer::finish() {
    const at::NoGradGuard no_grad;
    require(sum_.has_value(), "sanitizer: no step was begun");
    auto mine = std::exchange(sum_, std::nullopt);
    const auto numbers = mine->numbers();
    if (over_)
        over_->reduce(order_->charged->seq,
                      {numbers.data_ptr<std::int64_t>(), static_cast<std::size_t>(numbers.numel())});
    const auto sum = mine->of(numbers);
    const auto& terms = order_->terms;
    const auto noise = std::exchange(noise_, {});
    release out{
        order_->charged,
        terms.shape ? noised_in_shape(mine->gradient(sum), noise) : noised(sum.numbers, mine->steps(sum), noise),
        {},
        {}};
    if (terms.measured) {
        random_stream stream(key_, purpose::noise, order_->charged->seq, config_.segments.size());
        out.statistics.resize(sum.measured.size());
        const double sensitivity = terms.measured->sensitivity() * (1 + config_.rounding_margin);
        std::vector<double> of_statistics(sum.measured.size());
        stream.normals(of_statistics);
        detail::noise_and_round(sum.measured.data(), of_statistics.data(), out.statistics.data(),
                                std::ssize(sum.measured), terms.measurement_multiplier * sensitivity);
    }
    if (config_.as_published) {
        const auto none = at::zeros({0, static_cast<std::int64_t>(group_sizes_.size())}, at::kDouble);
        raw_ = raw_norms_.empty() ? compute_raw_statistics(none, none)
                                  : compute_raw_statistics(at::cat(raw_norms_), at::cat(raw_losses_));
    }
    return out;
}

raw_statistics compute_raw_statistics(const at::Tensor& norms, const at::Tensor& losses) {
    raw_statistics out;
    const auto groups = norms.size(1);
    out.units = norms.size(0);
    out.quartiles.resize(static_cast<std::size_t>(groups));
    if (out.units == 0) return out;
    const auto levels = at::tensor({0.25, 0.5, 0.75}, at::kDouble);
    const auto quartiles = at::quantile(norms, levels, 0).contiguous();  // [3, n]
    for (std::int64_t i = 0; i < groups; ++i) {
        for (std::int64_t k = 0; k < 3; ++k) {
            out.quartiles[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)] =
                quartiles.data_ptr<double>()[k * groups + i];
        }
    }
    // Over units and groups together, as the publication pools them; one value alone has no spread.
    const auto centred = norms - norms.mean();
    const auto squares = norms.square();
    const double variance = centred.square().mean().item<double>();
    const auto finite_losses = losses.masked_select(losses.isfinite());
    out.loss = finite_losses.numel() > 0 ? finite_losses.mean().item<double>() : 0;
    out.variance = variance;
    out.fisher_mean = squares.mean().item<double>();
    out.fisher_variance = (squares - squares.mean()).square().mean().item<double>();
    if (variance > 0) {
        out.skewness = centred.pow(3).mean().item<double>() / std::pow(variance, 1.5);
        out.kurtosis = centred.pow(4).mean().item<double>() / (variance * variance);
    }
    return out;
}

}  // namespace rldp::privacy
