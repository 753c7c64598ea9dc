#pragma once
// What each component of an action means: pure functions, in the order radii [n], noise [1], shares [n], lr [1].
#include <span>
#include <string>
#include <vector>

namespace rldp::rl {

/// Radii C_i: absolute, clamp(e^a, C_min, C_max); delta, clamp(base·e^a, …). `base_radii` is empty under absolute.
std::vector<double> radii_from(std::span<const double> action, const std::vector<double>& base_radii, double clip_min,
                               double clip_max);
/// One smoothed step of log σ: δ = tanh(a)·0.1·(1 − ε_t/ε_max), clamped to [log ½σ_0, log 2σ_0], then 0.8 old + 0.2
/// new.
double next_log_sigma(double log_sigma, double action, double spent_fraction, double initial_noise_multiplier);
/// Shares w_i² = softmax(a), sum 1.
std::vector<double> shares_from(std::span<const double> action);
/// The same for the log of the learning-rate factor, within [¼, 4]; the step does not shrink, for it costs no privacy.
double next_log_lr(double log_lr, double action);

}  // namespace rldp::rl
