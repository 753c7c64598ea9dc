#pragma once
// The second half of a release: what controller and monitors may know of the batch. φ, its weights and its sensitivity
// are worked out here and nowhere else (docs/privacy.md §2).
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "privacy/release.hpp"

namespace rldp::privacy {

/// Centres and ranges of φ; they depend on earlier releases only.
struct statistics_frame {
    std::vector<std::array<double, 3>> trackers;  ///< r_{i,k}: .25, .50, .75 quantiles of ν per group
    double loss_centre = 0, loss_range = 1;       ///< c, R_ℓ, nats
    double norm_range = 1;                        ///< R
};

struct statistics_weights {
    double quantile, loss, moment;  ///< w_q, w_ℓ, w_m
    /// Δ = sqrt(¾·n·w_q² + w_ℓ² + w_m²), the L2 norm that no unit's φ exceeds.
    double sensitivity(std::size_t groups) const;
};
/// The weights in use for n groups.
statistics_weights weights_for(std::size_t groups);

struct bounded_sum {
    std::vector<double> sum;  ///< of φ over units, [3n + 1 + 4]: quantile bits (group-major), loss, M_1..M_4
    double sensitivity;       ///< Δ: by how much one unit can move it, L2
};
/// `norms` float64 [b, n], `losses` float64 [b]; a unit with a non-finite loss has the loss part 0.
bounded_sum statistics_sum(const at::Tensor& norms, const at::Tensor& losses, const statistics_frame& frame);

/// What the controller sees at a decision: 3n + 8 numbers, all post-processing of releases.
struct observation {
    std::vector<double> quartiles;  ///< 3n, sorted within each group
    double utility = 0, epsilon = 0, variance = 0, loss = 0, fisher_mean = 0, fisher_variance = 0, skewness = 0,
           kurtosis = 0;
    std::vector<double> flat() const;  ///< in that order
};

/// Turns noised sums into trackers and observations. Public side: it sees releases only.
class statistics_tracker {
  public:
    /// `expected_batch` is the public divisor B; trackers start at initial_radius.
    statistics_tracker(std::size_t groups, double expected_batch, double initial_radius, double initial_loss);

    const statistics_frame& frame() const { return frame_; }
    /// Accumulates one release; after every ten or more accumulated steps the trackers move geometrically (Andrew et
    /// al. 2021) and centre and ranges follow.
    void add(const release& value);
    /// Mean loss of the last step alone, as released (noisy; NaN where the release has no statistics).
    double last_loss() const { return last_loss_; }
    /// The state over the steps since the last call, which also starts a new interval.
    observation observe(double epsilon_spent);
    std::vector<double> medians() const;  ///< r_{i,.5}

    std::string save() const;  ///< JSON
    void load(const std::string& json);

  private:
    void accumulate(const release& value);
    void move_frame();
    statistics_frame frame_;
    double expected_batch_;
    std::vector<double> window_;  ///< sums of φ over the steps since the frame moved
    double window_squares_ = 0;   ///< sum of squares of the quantile bits' entries over the same steps
    std::int64_t window_steps_ = 0, moves_ = 0;
    std::array<double, 5> interval_{};  ///< sums since the last observation: loss and R^k·M_k, k = 1..4
    std::int64_t interval_steps_ = 0;
    double last_loss_;
    std::optional<raw_statistics> raw_;  ///< of the last release, as_published only
};

}  // namespace rldp::privacy
