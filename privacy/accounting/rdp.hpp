#pragma once
// Rényi accounting of the Poisson-subsampled Gaussian, and the moments of its privacy loss, which the PLD accountant
// needs too.
#include <memory>
#include <span>

#include "privacy/accounting/accountant.hpp"

namespace rldp::privacy {

std::unique_ptr<accountant> make_rdp();

/// The two neighbours: `remove` compares P = (1−q)N(0,z²) + qN(1,z²) with Q = N(0,z²), `add` Q with P.
enum class direction { remove, add };

/// log E[e^{λL}] of one step's privacy loss L in one direction, λ > 0; λ times the Rényi divergence of order 1 + λ.
/// Relative error below 1e-7, on the upper side; +inf where it overflows.
double log_moment(direction side, double lambda, double noise_multiplier, double sample_rate);
/// Σ steps·log_moment over a list.
double log_moment(direction side, double lambda, std::span<const phase> phases);

/// log sup_t e^{-λt}(1 − e^{-t}): what a bound on e^{λL} costs on its way to δ (Canonne, Kamath, Steinke 2020, Prop.
/// 12): δ(ε) ≤ exp(log_moment − λε + log_conversion).
double log_conversion(double lambda);

/// The order 1 + λ that bounds ε at δ best, and that bound.
struct renyi_bound {
    double lambda, epsilon;
};
renyi_bound best_order_for_delta(direction side, std::span<const phase> phases, double delta);
/// λ that bounds δ at ε best.
double best_order_for_epsilon(direction side, std::span<const phase> phases, double epsilon);

}  // namespace rldp::privacy
