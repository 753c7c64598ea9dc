#include "models/adamw.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace rldp::models {

namespace {

// Gradient, moments and parameters of a piece stay in the cache from one operation to the next. Of 30 million numbers
// pieces of 2^16 to 2^20 take the same time; smaller ones cost more in calls than they save.
constexpr std::int64_t numbers_of_a_piece = std::int64_t{1} << 18;

/// What may be changed in place: nobody else has it.
at::Tensor own(const at::Tensor& moment) {
    return moment.use_count() == 1 && moment.storage().use_count() == 1 ? moment : moment.clone();
}

}  // namespace

adamw::adamw(at::Tensor parameters, adamw_config config)
    : config_(config),
      parameters_(std::move(parameters)),
      first_(at::zeros_like(parameters_)),
      second_(at::zeros_like(parameters_)) {
    if (config_.rate_factors.defined()) config_.rate_factors = config_.rate_factors.to(parameters_.device());
}

void adamw::step(const at::Tensor& gradient, double lr, std::optional<double> noise_variance) {
    require(gradient.sizes() == parameters_.sizes(), "adamw: a gradient of another shape");
    const auto here = gradient.to(parameters_.device(), /*non_blocking=*/true);  // a release is made on the host
    const double beta1 = config_.beta1, beta2 = config_.beta2;
    ++steps_;
    const double correction1 = 1 - std::pow(beta1, static_cast<double>(steps_));
    const double correction2 = 1 - std::pow(beta2, static_cast<double>(steps_));
    noise_ = noise_ * beta2 + noise_variance.value_or(0) * (1 - beta2);
    first_ = own(first_);
    second_ = own(second_);
    parameters_ = parameters_.clone();
    const auto numbers = parameters_.numel();
    // The order of operations is torch.optim.AdamW's, so that equal gradients give equal floats.
    const auto update = [&](std::int64_t begin, std::int64_t end) {
        const at::NoGradGuard no_grad;
        const auto part = [&](const at::Tensor& t) {
            return end - begin == numbers ? t : t.narrow(0, begin, end - begin);
        };
        const auto g = part(here), first = part(first_), second = part(second_);
        first.mul_(beta1).add_(g, 1 - beta1);
        second.mul_(beta2).addcmul_(g, g, 1 - beta2);
        const auto denominator = noise_variance
                                     ? (second - noise_)
                                           .div_(correction2)
                                           .clamp_min_(config_.least_root * config_.least_root * *noise_variance)
                                           .sqrt_()
                                     : second.sqrt().div_(std::sqrt(correction2)).add_(config_.epsilon);
        const auto direction = config_.rate_factors.defined() ? first * part(config_.rate_factors) : first;
        part(parameters_).mul_(1 - lr * config_.weight_decay).addcdiv_(direction, denominator, -lr / correction1);
    };
    if (!parameters_.is_cpu()) return update(0, numbers);
    const auto pieces = (numbers + numbers_of_a_piece - 1) / numbers_of_a_piece;
    at::parallel_for(0, pieces, 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto piece = begin; piece < end; ++piece)
            update(piece * numbers_of_a_piece, std::min(numbers, (piece + 1) * numbers_of_a_piece));
    });
}

adamw::state adamw::snapshot() const {
    return {parameters_, first_, second_, noise_, steps_};
}

void adamw::restore(const state& from) {
    const auto device = parameters_.device();
    parameters_ = from.parameters.to(device);
    // Copies: they are changed in place.
    first_ = from.first.to(device).clone();
    second_ = from.second.to(device).clone();
    noise_ = from.noise;
    steps_ = from.steps;
}

}  // namespace rldp::models
