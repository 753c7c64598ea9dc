#pragma once
// From per-unit gradients to one clipped sum, in whole numbers on a public grid. Trusted side.
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

/// The same of parts, [b, n]: upper bounds of the norms.
group_norms_result group_bounds(const gradient_parts& parts, const std::vector<segment>& segments);

/// Clip factors [b, n] for norms [b, n], such that norm times factor never exceeds C: where a rule clips, 1e-9 less
/// than it says, for rounding. `stabiliser` is γ or r. Not for batch_mean.
at::Tensor clip_factors(clip_rule rule, const at::Tensor& norms, const std::vector<double>& radii, double stabiliser);

/// What a unit adds to a coordinate is rounded towards zero, which makes no vector longer, to a whole number of steps
/// of C/per_unit, C_i of the group (where the order has a geometry, C times the coordinate's deviation); int64 holds
/// the sum of `most_units` units.
inline constexpr double per_unit = 0x1p36;
inline constexpr std::int64_t most_units = std::int64_t{1} << 24;
/// Under batch_mean units are not clipped: steps of C/2²², and a coordinate beyond 2¹⁴·C counts as that much.
inline constexpr double mean_per_radius = 0x1p22;

/// The sum over a step's units, each brought to its bound as the terms say.
class clipped_sum {
  public:
    /// numbers() has room for `more` numbers behind its own.
    clipped_sum(std::vector<segment> segments, step_terms terms, std::int64_t more = 0);

    /// Takes in a micro-batch; answers norms (of parts, their bounds) [b, n] and losses ([b], or [b, 1 + k] with k
    /// probes) of its whole units, float64 on the CPU, for what is measured of them. A unit with any non-finite
    /// gradient counts as zero. Errors: failed where parts turn out longer than their bounds.
    struct seen {
        at::Tensor norms, losses;
    };
    seen add(const unit_gradients& batch);
    /// int64 [D + more] on the CPU, in steps of the grid; zeros for an empty draw, and behind them. The sum itself
    /// where it lies there: no copy.
    at::Tensor numbers();
    std::int64_t units() const { return units_; }  ///< whole ones so far: private
    /// What one of each segment's numbers stands for, in a sum [D] of so many units, of any micro-batches under these
    /// terms; under batch_mean in the clipped mean. Errors: failed under a geometry.
    std::vector<double> steps(const at::Tensor& numbers, std::int64_t units) const;
    /// What such numbers stand for: float64 [D] on the CPU.
    at::Tensor decode(const at::Tensor& numbers, std::int64_t units) const;
    /// The same of this sum alone.
    at::Tensor take() { return decode(numbers().narrow(0, 0, count_coordinates(segments_)), units_); }

  private:
    seen add_parts(const unit_gradients& batch);
    at::Tensor& sum_on(at::Device device);
    /// What a unit's numbers are multiplied by to be steps, float64 [b, groups] on the CPU. Zero for those after the
    /// first `units`, and where it is beyond all numbers, as a method may give it to a gradient that is all but zero.
    at::Tensor compute_weights(const at::Tensor& norms, std::int64_t units) const;
    /// Of [b, D] the first `units` rows count.
    void add_rows(const at::Tensor& gradients, const at::Tensor& norms, std::int64_t units);
    void add_shaped(const at::Tensor& gradients, std::int64_t units);
    /// Of the mean of each group: `steps` are the groups', before it is clipped.
    std::vector<double> mean_factors(const at::Tensor& numbers, const std::vector<double>& steps) const;

    std::vector<segment> segments_;
    step_terms terms_;
    std::vector<double> grid_;  ///< each group's step
    at::Tensor shaped_grid_;    ///< under a geometry each coordinate's, float64 [D] on the CPU
    std::int64_t more_;
    at::Tensor sum_;  ///< int64 [D + more], where the gradients lie
    std::int64_t units_ = 0;
};

}  // namespace rldp::privacy
