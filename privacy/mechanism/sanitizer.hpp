#pragma once
// Clip, sum, noise: from per-unit gradients to a release (docs/privacy.md §2). Trusted side: holds trusted values,
// returns one release.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "privacy/keys/random.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/correlated_noise.hpp"
#include "privacy/mechanism/noise.hpp"
#include "privacy/mechanism/reducer.hpp"
#include "privacy/mechanism/step_order.hpp"
#include "privacy/release.hpp"

namespace rldp::privacy {

// Step sum. What a step's units amount to, in whole numbers: clipped gradients and what is measured of them, each on a
// public grid. Whole numbers have no order of addition, so however the micro-batches are shared out among ranks, the
// sum is the same to the last bit (docs/privacy.md §6).

class step_sum {
  public:
    /// Errors: failed for a measurement that does not fit the groups.
    step_sum(const std::vector<segment>& segments, const step_terms& terms);

    /// Takes in a micro-batch; answers what clipped_sum answers.
    clipped_sum::seen add(const unit_gradients& batch);
    /// Everything so far, int64 [D + measured + 1] on the CPU: gradient, measurement, number of units.
    at::Tensor numbers();

    struct total {
        at::Tensor numbers;            ///< int64 [D]: the gradient, in steps
        std::int64_t units;            ///< private
        std::vector<double> measured;  ///< empty where nothing is
    };
    /// What the numbers of all ranks, added up, are. Errors: failed for another length.
    total of(const at::Tensor& numbers) const;
    /// What one of each segment's numbers stands for. Errors: failed under a geometry.
    std::vector<double> steps(const total& sum) const { return clipped_.steps(sum.numbers, sum.units); }
    /// Float64 [D].
    at::Tensor gradient(const total& sum) const { return clipped_.decode(sum.numbers, sum.units); }

  private:
    std::int64_t coordinates_;
    std::shared_ptr<const measurement> measured_;
    clipped_sum clipped_;
    std::vector<std::int64_t> measurement_;  ///< in steps of measurement_grid()
    double measurement_grid() const;
};

// Sanitizer. A step's sum, the noise that its charge pays for, and what is released of both.

struct sanitizer_config {
    std::vector<segment> segments;  ///< cover all D coordinates in order; every group has one
    allocation how = allocation::proportional;
    bool as_published = false;  ///< s_i = σ·C_i whatever n, and raw statistics for declassify_unsound
    /// η: a unit's presence moves the other units' clipped gradients, by rounding, by η·C at most (docs/privacy.md §6).
    double rounding_margin = 0;
    /// Of the matrix that correlates the gradient's noise over steps; what is measured has independent noise.
    band_coefficients bands = {1};
};

/// The multiplier that a step's noise amounts to: what was charged, but for as_published, which is off by √n.
double compute_multiplier(const sanitizer_config& config, const charge& charged);
/// s_i, standard deviation of the noise of each group in that step; in several bands that of the independent noise
/// which is correlated. Errors: bad_input for radii, shares or a multiplier
/// out of range.
std::vector<double> compute_noise_deviations(const sanitizer_config& config, const charge& charged,
                                             const step_terms& terms);

/// One step at a time: begin, add for every micro-batch, finish.
class sanitizer {
  public:
    /// `over`: where the sums of several ranks are added up; null in one process.
    sanitizer(sanitizer_config config, run_key key, std::shared_ptr<reducer> over = {});

    /// Draws the step's noise, which its charge pays for, unless it is large: while the first gradients are computed,
    /// not when all wait for the release. Errors: bad_input for radii, shares or a multiplier out of range; failed for
    /// a seq that is not new.
    void begin(const step_order& order);
    /// Clips every unit as the order says and adds to the sums. A unit with any non-finite gradient counts as zero.
    void add(const unit_gradients& batch);
    /// Adds the noise (float64) and rounds to the grid s_i·2⁻²⁰ (s of each coordinate, where the order has a geometry),
    /// float32. An empty draw gives pure noise.
    release finish();
    /// As_published only: of the step finished last. Trusted.
    const raw_statistics& raw() const { return raw_; }

  private:
    /// Errors: failed unless radii, deviations and measurement amount to the multiplier that was charged.
    void check_charge(const step_order& order) const;
    random_stream noise_stream(std::size_t stream) const;  ///< of this charge
    struct piece;                                          ///< of the coordinates
    void for_each_piece(const std::function<void(const piece&)>& body) const;
    /// Its standard normals, correlated with those of the steps before.
    void draw(const piece& of, double* out);
    at::Tensor standard_noise();  ///< of this charge, float64 [D]
    /// Float32 [D], of whole numbers in each segment's steps. Undefined noise is drawn here.
    at::Tensor noised(const at::Tensor& numbers, const std::vector<double>& steps, const at::Tensor& noise);
    at::Tensor noised_in_shape(const at::Tensor& sum, const at::Tensor& noise) const;

    sanitizer_config config_;
    run_key key_;
    std::vector<std::int64_t> group_sizes_;  ///< d_i
    std::uint64_t last_seq_ = 0;             ///< no noise stream is ever made twice
    correlated_noise correlated_;
    std::optional<step_order> order_;
    std::vector<double> deviations_;  ///< s_i
    std::optional<step_sum> sum_;     ///< between begin and finish
    at::Tensor noise_;                ///< likewise, unless it is drawn at the end; used once
    std::shared_ptr<reducer> over_;
    std::vector<at::Tensor> raw_norms_, raw_losses_;  ///< kept under as_published only
    raw_statistics raw_;
};

/// Of whole units' norms [units, n] and losses [units].
raw_statistics compute_raw_statistics(const at::Tensor& norms, const at::Tensor& losses);

}  // namespace rldp::privacy
