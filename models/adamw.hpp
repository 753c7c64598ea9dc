#pragma once
// AdamW (Loshchilov and Hutter 2019) on one flat vector. A step makes new tensors: what was sent to others stays as it
// was.
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace rldp::models {

struct adamw_config {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
};

class adamw {
  public:
    adamw(at::Tensor parameters, adamw_config config = {});
    /// One step with `gradient` (float32 [D], on any device) at learning rate `lr`.
    void step(const at::Tensor& gradient, double lr);
    const at::Tensor& parameters() const { return parameters_; }

    struct state {
        at::Tensor parameters, first, second;  ///< float32 [D]
        std::int64_t steps = 0;
    };
    state snapshot() const;
    void restore(const state& from);  ///< onto the device that the parameters are on

  private:
    adamw_config config_;
    at::Tensor parameters_, first_, second_;
    std::int64_t steps_ = 0;
};

}  // namespace rldp::models
