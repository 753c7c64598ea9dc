#pragma once
// Optimisers: what takes a step of training with a released gradient (train.optimizer). One sees the gradient, the
// parameters and how large the gradient's noise is, so that whatever it learns is post-processing of releases.
#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/optimizer_kind.hpp"
#include "models/adamw.hpp"

namespace rldp::models {

/// The mean gradient that a release gives.
struct noisy_gradient {
    at::Tensor values;           ///< float32 [D], on any device
    at::Tensor deviations = {};  ///< of the noise in each, [D] on any device; for those that ask for it
    std::optional<double> subtracted_variance = {};  ///< as adamw::step() has it
};

/// Everything that acts, for a checkpoint.
struct optimizer_state {
    at::Tensor parameters;                           ///< float32 [D]
    std::map<std::string, at::Tensor> tensors = {};  ///< float32 [D] each
    std::string numbers = "{}";                      ///< JSON
};

class optimizer {
  public:
    virtual ~optimizer() = default;
    /// `rate`: the learning rate; for one that finds its rate, what the schedule makes of 1. What was handed out before
    /// stays as it was.
    virtual void step(const noisy_gradient& seen, double rate) = 0;
    virtual const at::Tensor& parameters() const = 0;
    virtual bool asks_for_noise() const { return false; }
    /// Of each number's learning rate, from the next step on. Errors: failed for all but adamw.
    virtual void set_rate_factors(const at::Tensor& factors);

    virtual optimizer_state snapshot() const = 0;
    /// Onto the device that the parameters are on. Errors: bad_input for a state of another optimiser or size.
    virtual void restore(const optimizer_state& from) = 0;
};

/// `parameters` float32 [D]; `config` of the adamw that it is, or has inside.
std::unique_ptr<optimizer> make_optimizer(optimizer_kind kind, at::Tensor parameters, const adamw_config& config = {});

}  // namespace rldp::models
