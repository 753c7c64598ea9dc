#pragma once
// What a step's units amount to, in whole numbers: clipped gradients and what is measured of them, each on a public
// grid. Whole numbers have no order of addition, so however the micro-batches are shared out among ranks, the sum is
// the same to the last bit (docs/privacy.md §6). Trusted side.
#include <ATen/core/Tensor.h>

#include <vector>

#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/step_order.hpp"

namespace rldp::privacy {

class step_sum {
  public:
    /// Errors: failed for a measurement that does not fit the groups.
    step_sum(const std::vector<segment>& segments, const step_terms& terms);

    /// Takes in a micro-batch; answers what clipped_sum answers.
    clipped_sum::seen add(const unit_gradients& batch);
    /// Everything so far, int64 [D + measured + 1] on the CPU: gradient, measurement, number of units.
    at::Tensor numbers();

    struct whole {
        at::Tensor numbers;            ///< int64 [D]: the gradient, in steps
        std::int64_t units;            ///< private
        std::vector<double> measured;  ///< empty where nothing is
    };
    /// What the numbers of all ranks, added up, are. Errors: failed for another length.
    whole of(const at::Tensor& numbers) const;
    /// What one of each segment's numbers stands for. Errors: failed under a geometry.
    std::vector<double> steps(const whole& sum) const { return clipped_.steps(sum.numbers, sum.units); }
    /// Float64 [D].
    at::Tensor gradient(const whole& sum) const { return clipped_.whole(sum.numbers, sum.units); }

  private:
    std::int64_t coordinates_;
    std::shared_ptr<const measurement> measured_;
    clipped_sum clipped_;
    std::vector<std::int64_t> measurement_;  ///< in steps of measurement_grid()
    double measurement_grid() const;
};

}  // namespace rldp::privacy
