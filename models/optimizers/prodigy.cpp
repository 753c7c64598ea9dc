// Prodigy (Mishchenko and Defazio 2024), its Adam version, by the paper's Algorithm 4: Adam whose rate is an estimate d
// of how far the optimum is, d̂ = r/‖s‖₁, with r = Σ w_k·⟨g_k, x_0 − x_k⟩, s = Σ w_k·g_k, w_k = γ_k·d_k² (γ: the
// schedule) and both sums fading by √β2 a step. d never falls. Here its denominator is without the noise.
//
// What noise makes of the two sums is known: number i of s has noise of variance V_i = Σ w_k²·σ_ki², and r of variance
// R² = Σ w_k²·Σ_i σ_ki²·(x_0 − x_k)_i², for x_k knows nothing of the noise of g_k.
//
// Subtracted from the denominator, in squares, is N = Σ √(2·V_i/π), what noise alone makes of ‖s‖₁ in the mean. If the
// numbers of the signal are normals, too, as far apart as their noise's deviations are, ‖s‖₁ is N·√(1 + τ²) and the
// signal's part of it N·τ: the root of ‖s‖₁² − N². (‖s‖₁ − N would be too small by a factor τ/2 where τ is small, which
// under differential privacy it is.) Without noise nothing is subtracted.
//
// The floor is 3·R/d. Under noise alone the denominator hovers about zero while r does not; now r must be three of its
// own deviations for d̂ to exceed d. The second moment, noise included, is Prodigy's.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.hpp"
#include "models/optimizers/parts.hpp"
#include "models/thread_count.hpp"

namespace rldp::models {

namespace {

constexpr double first_distance = 1e-4;  // d_0
constexpr double beta1 = 0.9, beta2 = 0.999;
constexpr double sure = 3;  // deviations of r

class prodigy final : public optimizer {
  public:
    explicit prodigy(at::Tensor parameters)
        : parameters_(std::move(parameters)),
          start_(parameters_),
          first_(at::zeros_like(start_)),
          second_(at::zeros_like(start_)),
          sum_(at::zeros_like(start_)),
          variances_(at::zeros_like(start_)) {}

    void step(const noisy_gradient& seen, double rate) override {
        require(seen.deviations.defined(), "prodigy wants to know the noise");
        const auto device = parameters_.device();
        const auto gradient = seen.values.to(device), deviations = seen.deviations.to(device, at::kFloat);
        const double fading = std::sqrt(beta2), distance = distance_;
        const double weight = rate * std::pow(distance / first_distance, 2);  // over d_0², which cancels
        const auto way = start_ - parameters_;
        along_ = fading * along_ + weight * product(gradient, way);
        const auto noise = deviations * way;
        along_variance_ = beta2 * along_variance_ + weight * weight * squared_norm(noise);
        sum_ = sum_ * fading + gradient * weight;
        variances_ = variances_ * beta2 + (deviations * weight).square_();

        first_ = first_ * beta1 + gradient * ((1 - beta1) * distance);
        second_ = second_ * beta2 + (gradient * distance).square_().mul_(1 - beta2);
        parameters_ = parameters_ - first_ / (second_.sqrt().add_(distance * stabiliser)) * (rate * distance);
        if (const double below = denominator(); below > 0) distance_ = std::max(distance, along_ / below);
    }
    const at::Tensor& parameters() const override { return parameters_; }
    bool asks_for_noise() const override { return true; }

    optimizer_state snapshot() const override {
        return {
            .parameters = parameters_,
            .tensors = {{"start", start_},
                        {"first_moment", first_},
                        {"second_moment", second_},
                        {"sum", sum_},
                        {"sum_variances", variances_}},
            .numbers =
                nlohmann::json{{"distance", distance_}, {"along", along_}, {"along_variance", along_variance_}}.dump()};
    }
    void restore(const optimizer_state& from) override {
        const auto parameters = parameters_of(from, parameters_);
        const auto of = [&](const char* name) { return tensor_of(from, name, parameters_); };
        const auto start = of("start"), first = of("first_moment"), second = of("second_moment"), sum = of("sum"),
                   variances = of("sum_variances");
        read_numbers(from, [&](const auto& numbers) {
            distance_ = numbers.at("distance");
            along_ = numbers.at("along");
            along_variance_ = numbers.at("along_variance");
        });
        start_ = start;
        first_ = first;
        second_ = second;
        sum_ = sum;
        variances_ = variances;
        parameters_ = parameters;
    }

  private:
    double denominator() const {
        const one_thread same_bits_everywhere;
        const double length = sum_.abs().sum(at::kDouble).item<double>();
        const double of_noise = std::sqrt(2 / std::numbers::pi) * variances_.sqrt().sum(at::kDouble).item<double>();
        const double floor = sure * std::sqrt(along_variance_) / distance_;
        return std::max(std::sqrt(std::max(0.0, length * length - of_noise * of_noise)), floor);
    }

    at::Tensor parameters_, start_;          ///< x_k and x_0
    at::Tensor first_, second_;              ///< Adam's moments, of d_k·g_k
    at::Tensor sum_, variances_;             ///< s, and V
    double distance_ = first_distance;       ///< d
    double along_ = 0, along_variance_ = 0;  ///< r, and R²
};

}  // namespace

std::unique_ptr<optimizer> make_prodigy(at::Tensor parameters) {
    return std::make_unique<prodigy>(std::move(parameters));
}

}  // namespace rldp::models
