#pragma once
// The mean of the adapters that a training passes through: it is evaluated and saved in place of the last one. The
// noise of the last steps averages out of it.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/base/kinds.hpp"

namespace rldp::rl {

struct average_config {
    /// none: the last iterate; ema: weights that fall by 1 − 1/(window·steps) a step, corrected for their beginning;
    /// tail: equal weights of the last window·steps iterates (Polyak and Ruppert).
    averaging how = averaging::none;
    double window = 0;  ///< share of the steps, in (0, 1]
    std::int64_t steps = 0;
};

class iterate_average {
  public:
    explicit iterate_average(const average_config& config);

    /// The adapter [D] after step `step`, from 1.
    void add(std::int64_t step, const at::Tensor& adapter);
    /// What stands for the training: the mean, or `last` where there is none yet.
    at::Tensor of(const at::Tensor& last) const;

    /// For a checkpoint; the tensor is undefined where there is no mean yet. float64: increments of a long mean are
    /// small.
    const at::Tensor& mean() const { return mean_; }
    double weight() const { return weight_; }
    void restore(const at::Tensor& mean, double weight);

  private:
    average_config config_;
    at::Tensor mean_;
    double weight_ = 0;  ///< sum of the weights behind the mean
};

}  // namespace rldp::rl
