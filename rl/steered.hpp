#pragma once
// RLDP as a method: per-adapter radii and noise shares that a controller sets, and the private statistics it sets them
// by.
#include <cstdint>
#include <optional>
#include <vector>

#include "privacy/mechanism/statistics.hpp"
#include "privacy/mechanism/step_order.hpp"
#include "privacy/methods/method.hpp"

namespace rldp::rl {

struct steered_config {
    std::vector<privacy::segment> segments;  ///< which coordinates belong to which of the n groups
    double expected_batch = 0;               ///< B
    double initial_radius = 0, clip_min = 0, clip_max = 0;
    double radius_scale = 1;  ///< radii are relative to so many medians
    /// Whether a group's released sum is divided by its radius. AdamW's moments last for hundreds of steps; without
    /// this a radius that changes changes the group's learning rate until they have followed.
    bool rescale = true;
    double initial_loss = 0;      ///< a public guess of the mean token loss, nats: where the loss centre starts
    double statistics_share = 0;  ///< part of 1/z²; 0 under as_published, whose releases carry raw statistics
    std::int64_t warmup = 0;      ///< T_warm, steps: until then the radii follow the tracked medians
    std::vector<double> public_radii = {};  ///< medians of public gradients, in place of the tracked ones; or empty
};

class steered final : public privacy::method {
  public:
    explicit steered(const steered_config& config);

    privacy::step_terms next_terms(double noise_multiplier) const override;
    at::Tensor absorb(const privacy::release& value) override;
    std::vector<double> radii() const override { return radii_; }
    privacy::method_state save() const override;
    void load(const privacy::method_state& from) override;

    /// What a controller may see of the interval; starts a new one.
    privacy::observation observe(double epsilon_spent) { return tracker_.observe(epsilon_spent); }
    /// What radii are relative to: radius_scale times the public medians, or the tracked ones.
    std::vector<double> base_radii() const;
    /// Radii C_i (empty: as they are) and shares w_i² (empty: equal) from the next step on.
    void set(const std::vector<double>& radii, const std::vector<double>& shares);
    /// Mean loss of the last release, nats; NaN before the first.
    double last_loss() const { return tracker_.last_loss(); }

  private:
    void follow_medians();
    at::Tensor estimate(const at::Tensor& sum) const;

    steered_config config_;
    std::size_t groups_;  ///< n
    privacy::statistics_tracker tracker_;
    std::vector<double> radii_, shares_;
};

}  // namespace rldp::rl
