// AdaCliP (Pichapati, Suresh, Yu, Reddi, Kumar 2019, arXiv 1908.07643): clip and noise every coordinate in proportion
// to what it varies by, as earlier releases show. docs/methods.md.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "privacy/methods/geometries.hpp"
#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

constexpr double centre_memory = 0.99, variance_memory = 0.9;  // β1, β2
constexpr double least_variance = 1e-12, most_variance = 1;    // h1, h2
/// A coordinate's least variance as a part of their mean. Where s is a tenth of the others', w counts ten times as much
/// of it.
constexpr double least_part = 0.01;

/// `values` drawn towards `targets`, by the positive-part rule of James and Stein for errors of known variance: what of
/// their scatter the errors explain is none of theirs. At d of 1e5 that is all, which is AdaCliP pooled by adapter.
at::Tensor shrunk(const at::Tensor& values, const at::Tensor& errors, const at::Tensor& targets) {
    const double scatter = (values - targets).square().sum().item<double>();
    const double kept = scatter > 0 ? std::max(0.0, 1 - errors.sum().item<double>() / scatter) : 0;
    return targets + (values - targets) * kept;
}

class adaclip final : public method {
  public:
    explicit adaclip(const method_config& config) : config_(config), coordinates_(count_coordinates(config)) {
        // s_j = C0/√D makes b_j = C0: the first step is DP-SGD's at radius C0.
        const double first = config.initial_radius * config.initial_radius / static_cast<double>(coordinates_);
        const auto zeros = at::zeros({coordinates_}, at::kDouble);
        reshape(zeros, at::full_like(zeros, first), zeros);
    }

    step_terms next_terms(double) const override { return clip_in(shape_); }
    at::Tensor absorb(const release& value) override;
    /// √(Σ b_j²/D): DP-SGD with that radius has the same total noise.
    std::vector<double> radii() const override {
        return {std::sqrt(shape_->deviations().square().mean().item<double>())};
    }
    method_state save() const override;
    void load(const method_state& from) override;

  private:
    /// Takes on a state, and M as it has it.
    void reshape(at::Tensor centre, at::Tensor variances, at::Tensor errors);
    /// s² before its bounds, from estimates that are mostly noise.
    at::Tensor believed(const at::Tensor& variances, const at::Tensor& errors) const;

    method_config config_;
    std::int64_t coordinates_;  ///< D
    /// [D], a moving average, possibly negative: only what is made of it is bounded, so that bounds never bias it.
    at::Tensor variances_;
    at::Tensor errors_;  ///< [D], the variance that noise gives `variances_`
    std::shared_ptr<const diagonal_geometry> shape_;
};

at::Tensor adaclip::believed(const at::Tensor& variances, const at::Tensor& errors) const {
    std::vector<at::Tensor> means, mean_errors, out;
    const auto values = variances.split_with_sizes(config_.pair_sizes),
               noises = errors.split_with_sizes(config_.pair_sizes);
    for (std::size_t p = 0; p < values.size(); ++p) {
        means.push_back(values[p].mean());
        mean_errors.push_back(noises[p].mean() / values[p].numel());
    }
    const auto pooled = shrunk(at::stack(means), at::stack(mean_errors), variances.mean());
    for (std::size_t p = 0; p < values.size(); ++p)
        out.push_back(shrunk(values[p] - means[p], noises[p], at::zeros_like(means[p])) +
                      pooled[static_cast<std::int64_t>(p)]);
    return at::cat(out);
}

void adaclip::reshape(at::Tensor centre, at::Tensor variances, at::Tensor errors) {
    auto square = believed(variances, errors);
    const double least = std::max(least_variance, least_part * square.clamp_min(0).mean().item<double>());
    const auto s = square.clamp(least, std::max(most_variance, least)).sqrt();
    // b_j² = s_j·Σ_k s_k: the least Σ b_j² with Σ s_j²/b_j² ≤ 1 (the paper's Theorem 2). Σ b_j² = (Σ s_k)², so that the
    // radius of equal noise is Σ s_k/√D; all s in proportion bring it within its bounds.
    const double sum = s.sum().item<double>();
    const double radius = sum / std::sqrt(static_cast<double>(coordinates_));
    const double ratio = std::clamp(radius, config_.clip_min, config_.clip_max) / radius;
    shape_ = std::make_shared<diagonal_geometry>(std::move(centre), (s * sum).sqrt() * ratio);
    variances_ = std::move(variances);
    errors_ = std::move(errors);
}

at::Tensor adaclip::absorb(const release& value) {
    const at::NoGradGuard no_grad;
    const double batch = config_.expected_batch, fresh = 1 - variance_memory;
    const auto deviation = released_mean(value, coordinates_, batch);
    // A mean over B units varies 1/B as much as they do; so does its noise z²b²/B² count B-fold, with variance
    // 2·(z²b²/B)².
    const auto noise =
        (shape_->deviations() * (value.charged->noise_multiplier * (1 + config_.rounding_margin))).square() / batch *
        config_.step_variance;
    auto variances = variances_ * variance_memory + (deviation.square() * batch - noise) * fresh;
    auto errors = errors_ * (variance_memory * variance_memory) + noise.square() * (2 * fresh * fresh);
    const auto centre = shape_->centre();
    reshape(centre + deviation * (1 - centre_memory), std::move(variances), std::move(errors));
    return (centre + deviation).to(at::kFloat);
}

method_state adaclip::save() const {
    return {nlohmann::json{{"method", config_.name}, {"sizes", config_.pair_sizes}}.dump(),
            {{"centre", shape_->centre()}, {"variances", variances_}, {"errors", errors_}}};
}

void adaclip::load(const method_state& from) {
    check_sizes(from, config_.name, config_.pair_sizes);
    const std::vector<std::int64_t> shape{coordinates_};
    reshape(state_tensor(from, "centre", shape), state_tensor(from, "variances", shape),
            state_tensor(from, "errors", shape));
}

}  // namespace

std::unique_ptr<method> make_adaclip(const method_config& config) {
    return std::make_unique<adaclip>(config);
}

}  // namespace rldp::privacy
