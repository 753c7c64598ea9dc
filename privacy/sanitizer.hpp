#pragma once
// Clip, sum, noise: from per-unit gradients to a release (privacy contract §2). Holds trusted values; returns one
// release.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/random.hpp"
#include "privacy/release.hpp"
#include "privacy/statistics.hpp"

namespace rldp::privacy {

enum class allocation { shares, proportional, uniform, min_variance };
allocation allocation_from(std::string_view name);

/// How the joint multiplier z is split: 1/z² = 1/z_g² + 1/z_φ², share = (1/z_φ²)/(1/z²).
struct noise_split {
    double gradient_multiplier;    ///< z_g
    double statistics_multiplier;  ///< z_φ, infinite where share is 0
};
noise_split split_noise(double noise_multiplier, double statistics_share);

/// Standard deviations s_i, one per group, with (Σ C_i²/s_i²)^(-1/2) = z_g. `sizes` d_i; `shares` w_i², sum 1 (used by
/// allocation::shares only). Errors: bad_input for radii or shares not finite and positive, or of the wrong count.
std::vector<double> noise_standard_deviations(allocation how, double gradient_multiplier,
                                              const std::vector<double>& radii, const std::vector<std::int64_t>& sizes,
                                              const std::vector<double>& shares);
/// z_g that given radii and standard deviations amount to: what accounting must use.
double effective_multiplier(const std::vector<double>& radii, const std::vector<double>& standard_deviations);

/// A micro-batch's per-unit gradients, trusted.
struct unit_gradients {
    at::Tensor gradients;  ///< float32 [b, D], groups contiguous in order
    at::Tensor losses;     ///< float64 [b], mean token loss, nats
};

/// Everything public that a step needs; fixed before its draw is opened.
struct step_order {
    std::uint64_t seq = 0;  ///< ledger seq
    std::int64_t step = 0;
    double noise_multiplier = 0;  ///< z granted
    std::vector<double> radii;    ///< C_i
    std::vector<double> shares;   ///< w_i², empty for equal shares
    statistics_frame frame;
};

struct sanitizer_config {
    std::vector<std::int64_t> group_sizes;  ///< d_i, ΣD
    allocation how = allocation::proportional;
    double statistics_share = 0.02;
    bool as_published = false;  ///< s_i = σ·C_i whatever n, and raw statistics for declassify_unsound
};

/// One step at a time: begin, add for every micro-batch, finish.
class sanitizer {
  public:
    sanitizer(sanitizer_config config, run_key key);

    /// Errors: bad_input for radii, shares or a multiplier out of range; failed for a seq that is not new.
    void begin(const step_order& order);
    /// Clips every unit per group, λ = min(1, C_i/(ν + 1e-6)), and adds to the float64 sums. A unit with any non-finite
    /// gradient counts as zero.
    void add(const unit_gradients& batch);
    /// Noise (float64), rounding to the grid s_i·2⁻²⁰, float32. An empty draw gives pure noise.
    release finish();
    /// As_published only: of the step finished last. Trusted.
    const raw_statistics& raw() const { return raw_; }

  private:
    /// Errors: failed unless radii, deviations and split amount to the multiplier that was charged.
    void check_charge(const step_order& order, double expected) const;
    void clip_into_sum(const at::Tensor& gradients, const at::Tensor& norms);

    sanitizer_config config_;
    run_key key_;
    std::int64_t coordinates_ = 0;  ///< D
    std::uint64_t last_seq_ = 0;    ///< no noise stream is ever made twice
    bool open_ = false;             ///< between begin and finish
    step_order order_;
    noise_split split_{};
    std::vector<double> deviations_;  ///< s_i
    at::Tensor sum_;                  ///< float64 [D], where the gradients lie
    std::optional<bounded_sum> statistics_;  ///< where there is a share for them
    std::vector<at::Tensor> raw_norms_, raw_losses_;  ///< kept under as_published only
    raw_statistics raw_;
};

/// L2 norms per group in float64, [b, n]. Rows with a non-finite gradient are zeroed and `finite` [b] says which are
/// whole.
struct group_norms_result {
    at::Tensor norms;   ///< float64 [b, n]
    at::Tensor finite;  ///< bool [b]
};
group_norms_result group_norms(const at::Tensor& gradients, const std::vector<std::int64_t>& sizes);

/// Clip factors [b, n] for norms [b, n]: λ = min(1, C/(ν + 1e-6)), and where that clips a further 1e-9 less, so that
/// rounding of norms and products never leaves more than C.
at::Tensor clip_factors(const at::Tensor& norms, const std::vector<double>& radii);

/// Of whole units' norms [units, n] and losses [units].
raw_statistics raw_statistics_of(const at::Tensor& norms, const at::Tensor& losses);

}  // namespace rldp::privacy
