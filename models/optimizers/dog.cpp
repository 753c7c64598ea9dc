// DoG, distance over gradients (Ivgi, Hinder and Carmon 2023): SGD whose rate is how far it has been from where it
// began, over the root of the squared norms of all gradients so far. Noise counts in both.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/optimizers/parts.hpp"

namespace rldp::models {

namespace {

constexpr double first_reach = 1e-2;  // r_ε, relative to 1 + ‖x_0‖

class dog final : public optimizer {
  public:
    explicit dog(at::Tensor parameters)
        : parameters_(std::move(parameters)),
          start_(parameters_),
          reach_(first_reach * (1 + std::sqrt(squared_norm(start_)))) {}

    void step(const noisy_gradient& seen, double rate) override {
        const auto gradient = seen.values.to(parameters_.device());
        reach_ = std::max(reach_, std::sqrt(squared_norm(parameters_ - start_)));
        squares_ += squared_norm(gradient);
        parameters_ = parameters_ - gradient * (rate * reach_ / std::sqrt(squares_ + stabiliser));
    }
    const at::Tensor& parameters() const override { return parameters_; }

    optimizer_state snapshot() const override {
        return {.parameters = parameters_,
                .tensors = {{"start", start_}},
                .numbers = nlohmann::json{{"reach", reach_}, {"squares", squares_}}.dump()};
    }
    void restore(const optimizer_state& from) override {
        const auto parameters = parameters_of(from, parameters_);
        const auto start = tensor_of(from, "start", parameters_);
        read_numbers(from, [&](const auto& numbers) {
            reach_ = numbers.at("reach");
            squares_ = numbers.at("squares");
        });
        start_ = start;
        parameters_ = parameters;
    }

  private:
    at::Tensor parameters_, start_;  ///< x_t and x_0
    double reach_, squares_ = 0;     ///< max ‖x_i − x_0‖, Σ‖g_i‖²
};

}  // namespace

std::unique_ptr<optimizer> make_dog(at::Tensor parameters) {
    return std::make_unique<dog>(std::move(parameters));
}

}  // namespace rldp::models
