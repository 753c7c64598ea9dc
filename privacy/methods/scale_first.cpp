// Scale then privatise (Ganesh, McMahan and Thakurta 2025): units' gradients are divided by Adam's own second moment of
// earlier releases before they are clipped, so that the noise has the shape of what Adam divides by. docs/methods.md.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <utility>

#include "privacy/methods/geometries.hpp"
#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

constexpr double memory = 0.999;    // β2 of models::adamw
constexpr std::int64_t delay = 20;  // steps before scales follow what is mostly noise, and would make more of the same

class scale_first final : public method {
  public:
    explicit scale_first(const method_config& config) : config_(config), coordinates_(count_coordinates(config)) {
        reshape(at::zeros({coordinates_}, at::kDouble));
    }

    step_terms next_terms(double) const override { return clip_in(shape_); }
    at::Tensor absorb(const release& value) override {
        const at::NoGradGuard no_grad;
        const auto mean = released_mean(value, coordinates_, config_.expected_batch);
        ++steps_;
        reshape(squares_ * memory + mean.square() * (1 - memory));
        return mean.to(at::kFloat);
    }
    /// √(Σ b_j²/D): DP-SGD with that radius has the same total noise.
    std::vector<double> radii() const override { return {config_.initial_radius}; }
    method_state save() const override {
        const nlohmann::json numbers = {{"method", config_.name}, {"sizes", config_.pair_sizes}, {"steps", steps_}};
        return {numbers.dump(), {{"squares", squares_}}};
    }
    void load(const method_state& from) override {
        check_sizes(from, config_.name, config_.pair_sizes);
        steps_ = steps_in(read_numbers(from, config_.name));
        reshape(state_tensor(from, "squares", {coordinates_}));
    }

  private:
    /// Takes on second moments, and b_j = √v_j + γ·(their root mean square), brought to a root mean square of C. At
    /// first all b_j are C: those steps are DP-SGD's. (A moment's correction for its beginning would cancel here.)
    void reshape(at::Tensor squares) {
        const double size = std::sqrt(squares.mean().item<double>());
        const auto scales = size > 0 && steps_ >= delay ? squares.sqrt() / size + config_.stabiliser
                                                        : at::ones({coordinates_}, at::kDouble);
        const double length = std::sqrt(scales.square().mean().item<double>());
        shape_ = std::make_shared<diagonal_geometry>(at::zeros({coordinates_}, at::kDouble),
                                                     scales * (config_.initial_radius / length));
        squares_ = std::move(squares);
    }

    method_config config_;
    std::int64_t coordinates_;  ///< D
    std::int64_t steps_ = 0;
    at::Tensor squares_;  ///< [D] float64: moving average of the squared releases, noise included
    std::shared_ptr<const diagonal_geometry> shape_;
};

}  // namespace

std::unique_ptr<method> make_scale_first(const method_config& config) {
    return std::make_unique<scale_first>(config);
}

}  // namespace rldp::privacy
