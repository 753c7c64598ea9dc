// Mechanic (Cutkosky, Defazio and Mehta 2023) around AdamW: x_t = x_0 + s_t·Δ_t, where Δ_t is the sum of AdamW's moves
// at the schedule's rates, and s_t the sum of what six gamblers bet on ⟨Δ_t, g_t⟩, each with a memory of its own. Noise
// is not subtracted: it counts in the bets' squares.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/optimizers/parts.hpp"

namespace rldp::models {

namespace {

constexpr std::array betas = {0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999};
// s_init. The paper's 1e-8 wants more steps to come up from than a private run has; of 3e-4 to 1e-2 this ended lowest
// on made-up records (research/methods.md).
constexpr double first_scale = 3e-3;
constexpr double decay = 1e-2;  // λ

using gamblers = std::array<double, betas.size()>;

class mechanic final : public optimizer {
  public:
    mechanic(at::Tensor parameters, const adamw_config& config)
        : parameters_(std::move(parameters)), start_(parameters_), inner_(at::zeros_like(parameters_), config) {}

    void step(const noisy_gradient& seen, double rate) override {
        const auto gradient = seen.values.to(parameters_.device());
        const auto offset = inner_.parameters();  // Δ_t
        const double length = std::sqrt(squared_norm(parameters_));
        double told = product(offset, gradient);  // h_t
        if (length > 0)
            told += decay * scale() * std::sqrt(squared_norm(gradient)) * product(offset, parameters_) / length;
        inner_.step(gradient, rate);
        for (std::size_t i = 0; i < betas.size(); ++i) {
            largest_[i] = std::max(betas[i] * largest_[i], std::abs(told));
            squares_[i] = betas[i] * betas[i] * squares_[i] + told * told;
            won_[i] = std::max(0.0, betas[i] * won_[i] - scales_[i] * told);
            const double wealth = first_scale / static_cast<double>(betas.size()) * largest_[i] + won_[i];
            scales_[i] = wealth / (std::sqrt(squares_[i]) + stabiliser);
        }
        parameters_ = start_ + inner_.parameters() * scale();
    }
    const at::Tensor& parameters() const override { return parameters_; }

    optimizer_state snapshot() const override {
        optimizer_state out{
            .parameters = parameters_,
            .tensors = {{"start", start_}, {"offset", inner_.parameters()}},
            .numbers = nlohmann::json{{"scales", scales_}, {"won", won_}, {"largest", largest_}, {"squares", squares_}}
                           .dump()};
        store(inner_.snapshot(), out);
        return out;
    }
    void restore(const optimizer_state& from) override {
        const auto parameters = parameters_of(from, parameters_);
        const auto start = tensor_of(from, "start", parameters_);
        const auto inner = stored_adamw(from, tensor_of(from, "offset", parameters_));
        read_numbers(from, [&](const auto& numbers) {
            scales_ = numbers.at("scales").template get<gamblers>();
            won_ = numbers.at("won").template get<gamblers>();
            largest_ = numbers.at("largest").template get<gamblers>();
            squares_ = numbers.at("squares").template get<gamblers>();
        });
        inner_.restore(inner);
        start_ = start;
        parameters_ = parameters;
    }

  private:
    double scale() const {
        double out = 0;
        for (const double one : scales_) out += one;
        return out;
    }

    at::Tensor parameters_, start_;                                  ///< x_t and x_0
    adamw inner_;                                                    ///< its parameters are Δ_t
    gamblers scales_ = {}, won_ = {}, largest_ = {}, squares_ = {};  ///< s, r, m and v
};

}  // namespace

std::unique_ptr<optimizer> make_mechanic(at::Tensor parameters, const adamw_config& config) {
    return std::make_unique<mechanic>(std::move(parameters), config);
}

}  // namespace rldp::models
