#pragma once
// Who steers a run: controllers, what they may look at, and the method that they steer. Public side: they see releases
// only.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "privacy/accounting/banded_matrix.hpp"
#include "privacy/mechanism/statistics.hpp"
#include "privacy/mechanism/step_order.hpp"
#include "privacy/methods/method.hpp"
#include "run/train/adapter_features.hpp"

namespace rldp::rl {

// Controllers. What a controller may look at, and what it sets.

/// Of a block that has ended.
struct block_observation {
    privacy::observation released;                ///< of its statistics
    std::vector<double> base_radii;               ///< what clip_action delta is relative to
    double time = 0;                              ///< t/T
    std::vector<adapter_features> features = {};  ///< [n], of its gradients; empty where nobody asked for them
    std::optional<double> score = {};             ///< of the common rate (slope_score); none where it tells nothing
    std::optional<double> log_public_loss = {};   ///< log of the loss on public records at its end; likewise
};

/// What the controller sets for the next block.
struct block_action {
    std::vector<double> radii;         ///< C_i; empty: leave as they are
    std::vector<double> shares = {};   ///< w_i², sum 1; empty: equal
    double noise_multiplier;           ///< σ asked of the spending policy
    double lr_factor = 1;              ///< multiplies the learning-rate schedule, in [1/4, 4]
    std::vector<double> rates = {};    ///< [n] the same of an adapter's own, on top; empty: 1
    std::optional<double> trust = {};  ///< how much of what a net adds acts, in [0, 1]: less, the stranger the run is
};

class controller {
  public:
    virtual ~controller() = default;
    /// The decision for the next block. Takes well under a millisecond.
    virtual block_action decide(const block_observation& seen) = 0;
    /// What this decision has to teach; to be called after decide() and before the next one.
    virtual void learn() = 0;
    virtual std::int64_t decisions() const = 0;  ///< so far

    virtual std::string save() const = 0;  ///< bytes
    virtual void load(const std::string& bytes) = 0;
};

// Block watch. Looks at a run's releases block by block, and says of each adapter what they showed. Post-processing of
// releases.

class block_watch {
  public:
    /// `segments` divide the numbers into n adapters; `adapter` [D] as it is before the first step.
    /// Of noise in several bands, C is applied to what C⁻¹ was: y_t = Σ_k c_k·x_{t−k} has independent noise, which no
    /// earlier release knows.
    block_watch(std::vector<privacy::segment> segments, const at::Tensor& adapter,
                privacy::band_coefficients bands = {1});

    /// A released gradient [D], and the standard deviations [n] of the noise on a number of each adapter: releases
    /// count in units of their own noise.
    void add(const at::Tensor& gradient, const std::vector<double>& deviations);
    /// A step without a release: with the next a new block of C may begin.
    void skip() { last_.clear(); }
    /// A block is over, and `adapter` is what it led to. A block without releases leaves signal, cosine and along as
    /// they were, and has no score.
    void close(const at::Tensor& adapter);
    const std::vector<adapter_features>& features() const { return features_; }  ///< [n], of the last block
    /// Of the last block; none where it had no releases, or no block before it had.
    std::optional<double> score() const { return score_; }

    /// Everything that acts, for a checkpoint.
    at::Tensor tensors() const;   ///< float64 [4, D]
    std::string numbers() const;  ///< JSON
    /// Errors: bad_input where they are not those of as many numbers and groups.
    void restore(const at::Tensor& tensors, const std::string& numbers);

  private:
    at::Tensor whiten(at::Tensor scaled);

    std::vector<privacy::segment> segments_;
    privacy::band_coefficients bands_;
    std::deque<at::Tensor> last_;  ///< the releases before, in units of their noise, the last one first; at most b − 1
    at::Tensor sum_, last_sum_;    ///< float64 [D]: of this block, and of the last one that had releases
    at::Tensor last_moved_;        ///< how that last one moved the adapter, float64 [D]
    at::Tensor before_;            ///< the adapter before this block, float64 [D]
    std::int64_t releases_ = 0;
    std::vector<double> noise_;  ///< [n]: the sum of this block's deviations
    std::vector<adapter_features> features_;
    std::optional<double> score_;
};

// Steered method. RLDP as a method: per-adapter radii and noise shares that a controller sets, and the private
// statistics it sets them by.

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
