#include "models/adamw.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "config/base/require.hpp"

namespace rldp::models {

adamw::adamw(at::Tensor parameters, adamw_config config)
    : config_(config),
      parameters_(std::move(parameters)),
      first_(at::zeros_like(parameters_)),
      second_(at::zeros_like(parameters_)) {
    if (config_.rate_factors.defined()) config_.rate_factors = config_.rate_factors.to(parameters_.device());
}

void adamw::step(const at::Tensor& gradient, double lr, std::optional<double> noise_variance) {
    require(gradient.sizes() == parameters_.sizes(), "adamw: a gradient of another shape");
    const at::NoGradGuard no_grad;
    const auto here = gradient.to(parameters_.device(), /*non_blocking=*/true);  // a release is made on the host
    const double beta1 = config_.beta1, beta2 = config_.beta2;
    ++steps_;
    // The order of operations is torch.optim.AdamW's, so that equal gradients give equal floats.
    const auto decayed = parameters_ * (1 - lr * config_.weight_decay);
    first_ = (first_ * beta1).add_(here, 1 - beta1);
    second_ = (second_ * beta2).addcmul_(here, here, 1 - beta2);
    const double correction1 = 1 - std::pow(beta1, static_cast<double>(steps_));
    const double correction2 = 1 - std::pow(beta2, static_cast<double>(steps_));
    noise_ = noise_ * beta2 + noise_variance.value_or(0) * (1 - beta2);
    const auto denominator = noise_variance ? (second_ - noise_)
                                                  .div_(correction2)
                                                  .clamp_min_(config_.least_root * config_.least_root * *noise_variance)
                                                  .sqrt_()
                                            : second_.sqrt().div_(std::sqrt(correction2)).add_(config_.epsilon);
    const auto direction = config_.rate_factors.defined() ? first_ * config_.rate_factors : first_;
    parameters_ = decayed.addcdiv(direction, denominator, -lr / correction1);
}

adamw::state adamw::snapshot() const {
    return {parameters_, first_, second_, noise_, steps_};
}

void adamw::restore(const state& from) {
    const auto device = parameters_.device();
    parameters_ = from.parameters.to(device);
    first_ = from.first.to(device);
    second_ = from.second.to(device);
    noise_ = from.noise;
    steps_ = from.steps;
}

}  // namespace rldp::models
