#pragma once
// What a step is told before its draw is opened, and what it then works on.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "privacy/mechanism/geometry.hpp"
#include "privacy/mechanism/gradient_parts.hpp"
#include "privacy/mechanism/measurement.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

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
