#pragma once
// A differentially private optimiser: how it clips the next step, what it asks of the batch besides the gradient, and
// what it makes of the release. Public side: everything in here is post-processing of releases, so it costs nothing.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "privacy/mechanism/step_order.hpp"
#include "privacy/release.hpp"

namespace rldp::privacy {

/// Everything that a method's later steps depend on, for a checkpoint.
struct method_state {
    std::string numbers;  ///< JSON
    std::vector<std::pair<std::string, at::Tensor>> tensors;
};

class method {
  public:
    virtual ~method() = default;
    /// The terms of the next step at that joint noise multiplier.
    virtual step_terms next_terms(double noise_multiplier) const = 0;
    /// The estimate of the mean gradient that a release gives, float32 [D] on the CPU; then what the release says is
    /// taken into account for the next step. Sums are divided by the public B = q·N, never by the realised batch size
    /// (docs/privacy.md §2).
    virtual at::Tensor absorb(const release& value) = 0;
    /// What the learning rate is multiplied by.
    virtual double rate_factor() const { return 1; }
    /// Whether its terms have probes at times.
    virtual bool probes() const { return false; }
    /// Variance of the noise in each number of the last estimate, where the optimiser is to subtract it from its second
    /// moment.
    virtual std::optional<double> noise_variance() const { return std::nullopt; }
    /// What the metrics show: C_i per group, or the radius that means the same where the clip is in another metric.
    virtual std::vector<double> radii() const = 0;

    virtual method_state save() const = 0;
    /// Errors: bad_input for a state of another method or size.
    virtual void load(const method_state& from) = 0;
};

/// What methods are made from; each takes what concerns it.
struct method_config {
    std::string name;                      ///< all but rldp, which is rl::steered
    std::vector<std::int64_t> pair_sizes;  ///< coordinates of each adapter, sum D
    std::size_t groups = 1;                ///< n: what is clipped as one
    double expected_batch = 0;             ///< B
    double initial_radius = 0, clip_min = 0, clip_max = 0;
    // Of the method's own keys; 0 where it has none.
    double quantile = 0;          ///< p of autoclip_quantile and dcsgd_p
    double query_noise = 0;       ///< standard deviation of a bit sum (autoclip_quantile) or of a bin (dcsgd_*)
    double stabiliser = 0;        ///< γ of auto_s, r of psac, the least of what scale_first divides by
    std::int64_t rank = 0;        ///< k of geoclip; 0: a scalar per adapter
    double statistics_share = 0;  ///< part of 1/z² that hyfreedp spends on losses, at the steps that measure any
    std::int64_t warmup = 0;      ///< steps over which the learning rate rises
    double initial_loss = 1;      ///< about what a unit loses before the first step, nats; public
    double rounding_margin = 0;   ///< η, which the noise covers too (sanitizer_config)
    double step_variance = 1;     ///< of a step's noise over that of independent noise (compute_step_variance)
};

/// Of every row of config::methods() but rldp. Requires numbers in range and the groups that the method clips. Errors:
/// bad_input for a name that no row has.
std::unique_ptr<method> make_method(const method_config& how);

}  // namespace rldp::privacy
