#pragma once
// From per-unit gradients to one clipped sum, in float64. Trusted side.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "privacy/mechanism/step_order.hpp"

namespace rldp::privacy {

/// L2 norms per group in float64, [b, n]. Rows with a non-finite gradient are zeroed and `finite` [b] says which are
/// whole.
struct group_norms_result {
    at::Tensor norms;   ///< float64 [b, n]
    at::Tensor finite;  ///< bool [b]
};
group_norms_result group_norms(const at::Tensor& gradients, const std::vector<segment>& segments);

/// Clip factors [b, n] for norms [b, n], such that norm times factor never exceeds C: where a rule clips, 1e-9 less
/// than it says, for rounding. `stabiliser` is γ or r. Not for batch_mean.
at::Tensor clip_factors(clip_rule rule, const at::Tensor& norms, const std::vector<double>& radii, double stabiliser);

/// The sum over a step's units, each brought to its bound as the terms say.
class clipped_sum {
  public:
    clipped_sum(std::vector<segment> segments, step_terms terms);

    /// Takes in a micro-batch; answers norms [b, n] and losses ([b], or [b, 1 + k] with k probes) of its whole units,
    /// float64 on the CPU, for what is measured of them. A unit with any non-finite gradient counts as zero.
    struct seen {
        at::Tensor norms, losses;
    };
    seen add(const unit_gradients& batch);
    /// float64 [D] on the CPU; zeros for an empty draw. Under batch_mean the clipped mean.
    at::Tensor take();

  private:
    /// Of [b, D] the first `units` rows count.
    void add_rows(const at::Tensor& gradients, const at::Tensor& norms, std::int64_t units);
    void add_shaped(const at::Tensor& gradients, std::int64_t units);
    at::Tensor clipped_mean(at::Tensor sum) const;

    std::vector<segment> segments_;
    step_terms terms_;
    at::Tensor sum_;          ///< float64 [D], where the gradients lie
    std::int64_t units_ = 0;  ///< whole ones so far: private
};

}  // namespace rldp::privacy
