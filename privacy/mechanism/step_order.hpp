#pragma once
// What a step is told before its draw is opened, and what it then works on.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "privacy/mechanism/measurement.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

// Geometry. Clipping and noise in another metric than the Euclidean: a public centre a and a public invertible linear
// map M. Unit gradients are clipped to f·(g − a), f = min(1, C/‖M(g − a)‖), and the noise is M⁻¹N(0, (z·C)²I). M maps
// that to isotropic noise on sums in which a unit moves at most C, so the multiplier is z whatever M is, if a and M
// depend on earlier releases only.

/// Immutable, and of two kinds only: the public side makes it, and on the trusted side it sees unit gradients.
/// All tensors are float64; D coordinates.
class geometry {
  public:
    virtual ~geometry() = default;
    /// a, [D] on the CPU.
    virtual const at::Tensor& centre() const = 0;
    /// ‖M c‖ for each row c of `centred` [b, D], on the device of `centred`: [b].
    virtual at::Tensor norms(const at::Tensor& centred) const = 0;
    /// M⁻¹ξ, [D] on the CPU.
    virtual at::Tensor colour(const at::Tensor& white) const = 0;
    /// Standard deviation of each coordinate of M⁻¹ξ for ξ ~ N(0, I): [D] on the CPU, positive.
    virtual at::Tensor deviations() const = 0;
    /// How much longer M makes one vector than another of those whose length it changes together: at least 1.
    virtual double condition() const = 0;

  private:
    geometry() = default;
    friend class diagonal_geometry;
    friend class spiked_geometry;
};

// Gradient parts. A micro-batch's per-unit gradients where [b, D] of them would be too much to hold: the clipper is
// told bounds of their norms first, and is shown the numbers, part by part, when it knows the factors. Trusted side.

class gradient_parts {
  public:
    virtual ~gradient_parts() = default;
    virtual std::int64_t units() const = 0;
    /// Coordinates of each part, in the order of the flat gradient; they cover it, and none lies across two segments.
    virtual const std::vector<std::int64_t>& sizes() const = 0;
    /// [b, parts] float64 on the CPU: no part of what show() shows is longer, in L2. Not finite where a unit is to
    /// count as zero.
    virtual at::Tensor norm_bounds() const = 0;
    /// Calls `see` with each wanted unit's coordinates from `offset` on, float32 [n], contiguous, of one part; what is
    /// not shown is zero. The numbers are overwritten afterwards.
    using viewer = std::function<void(std::int64_t unit, std::int64_t offset, const at::Tensor& numbers)>;
    virtual void show(const std::vector<bool>& wanted, const viewer& see) const = 0;
};

// Step order. How a step clips and measures, what was charged for it, and the unit gradients that it takes.

/// How a group's norm ν and radius C become the factor of a unit's gradient (docs/methods.md).
enum class clip_rule {
    clip,       ///< min(1, C/(ν + 1e-6)): Abadi et al. 2016
    normalise,  ///< C/(ν + γ): automatic clipping, Bu et al. 2022
    psac,       ///< C/(ν + r/(ν + r)): per-sample adaptive clipping, Xia et al. 2022
    /// The mean over the units drawn is clipped, not each unit: one unit can turn it round, so the sensitivity is 2C
    /// however many were drawn (the letter of DP-LoRA). The release is a mean.
    batch_mean
};

/// C_i, or 2·C_i where a mean is clipped; times 1 + η for what rounding may add (docs/privacy.md §6).
std::vector<double> sensitivities(clip_rule rule, const std::vector<double>& radii, double rounding_margin);

/// A micro-batch's per-unit gradients, trusted.
struct unit_gradients {
    at::Tensor gradients;      ///< float32 [b, D], in the order of the segments; undefined where there are parts
    at::Tensor losses;         ///< float64 [b], mean token loss, nats; [b, 1 + k] where k probes are asked for
    std::int64_t dummies = 0;  ///< rows at the end that stand for no unit: worked through, and counted as zero
    std::shared_ptr<const gradient_parts> parts = {};  ///< where [b, D] would be too much to hold
};

/// How a step clips and what it measures: chosen on the public side, before the step's draw is opened.
struct step_terms {
    std::vector<double> radii;   ///< C_i
    std::vector<double> shares;  ///< w_i², empty for equal shares
    clip_rule rule = clip_rule::clip;
    double stabiliser = 0;                                                    ///< γ of normalise, r of psac
    std::shared_ptr<const geometry> shape;                                    ///< null: the Euclidean; else one group
    std::shared_ptr<const measurement> measured;                              ///< null: the gradient alone is released
    double measurement_multiplier = std::numeric_limits<double>::infinity();  ///< z_φ = s_φ/Δ
    /// Where losses are taken too, without dropout: the adapter plus so many times what the last step changed in it.
    std::vector<double> probes;
};

/// Everything public that a step needs. Seq and noise multiplier are the charge's, and nobody else's.
struct step_order {
    charge charged;
    step_terms terms;
    std::vector<at::Tensor> probes = {};  ///< the terms' probes, float32 [D]
};

/// Consecutive coordinates of the flat gradient that belong to one group.
struct segment {
    std::int64_t size;
    std::size_t group;
};

/// A group of its own for each size.
std::vector<segment> make_segments(const std::vector<std::int64_t>& sizes);
/// D.
std::int64_t count_coordinates(const std::vector<segment>& segments);
/// d_i, coordinates of each group. Errors: bad_input for an empty segment, or a group without one.
std::vector<std::int64_t> sizes_of_groups(const std::vector<segment>& segments);

}  // namespace rldp::privacy
