#pragma once
// How much Gaussian noise a step gets where: the joint multiplier's parts and the groups' standard deviations (privacy
// docs/privacy.md §2).
#include <cstdint>
#include <vector>

#include "base/kinds.hpp"

namespace rldp::privacy {

/// z_φ of a measurement that gets the part `share` of 1/z²; infinite where share is 0. Errors: bad_input for a share
/// outside [0, 1).
double measurement_multiplier(double noise_multiplier, double share);
/// z_g that is left beside a measurement: 1/z² = 1/z_g² + 1/z_φ². Errors: bad_input where nothing is left.
double gradient_multiplier(double noise_multiplier, double measurement_multiplier);

/// Standard deviations s_i, one per group, with (Σ C_i²/s_i²)^(-1/2) = z_g. `sizes` d_i; `shares` w_i², sum 1 (used by
/// allocation::shares only). Errors: bad_input for radii or shares not finite and positive, or of the wrong count.
std::vector<double> noise_standard_deviations(allocation how, double gradient_multiplier,
                                              const std::vector<double>& radii, const std::vector<std::int64_t>& sizes,
                                              const std::vector<double>& shares);
/// z_g that sensitivities (the radii, where units are clipped one by one) and standard deviations amount to: what
/// accounting must use.
double effective_multiplier(const std::vector<double>& sensitivities, const std::vector<double>& standard_deviations);

}  // namespace rldp::privacy
