#pragma once
// AdamW (Loshchilov and Hutter 2019) on one flat vector. What was handed to others stays as it was at any step.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace rldp::models {

struct adamw_config {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
    at::Tensor rate_factors = {};  ///< of each number's learning rate, float32 [D]; undefined: 1
    /// The least root of a second moment from which the noise was subtracted, in standard deviations of that noise.
    double least_root = 1;
};

class adamw {
  public:
    adamw(at::Tensor parameters, adamw_config config = {});
    /// One step with `gradient` (float32 [D], on any device) at learning rate `lr`. With `noise_variance`, which is
    /// that of each of its numbers, the second moment is the signal's alone (DP-AdamBC: Tang, Shpilevskiy and Lécuyer
    /// 2024): where there is more noise than signal, Adam would divide every number by the same.
    void step(const at::Tensor& gradient, double lr, std::optional<double> noise_variance = {});
    /// From the next step on; as in the configuration.
    void set_rate_factors(const at::Tensor& factors) { config_.rate_factors = factors.to(parameters_.device()); }
    const at::Tensor& parameters() const { return parameters_; }

    struct state {
        at::Tensor parameters, first, second;  ///< float32 [D]
        double noise = 0;                      ///< how much of `second` is the noise's
        std::int64_t steps = 0;
    };
    state snapshot() const;
    void restore(const state& from);  ///< onto the device that the parameters are on

  private:
    adamw_config config_;
    at::Tensor parameters_, first_, second_;
    double noise_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace rldp::models
