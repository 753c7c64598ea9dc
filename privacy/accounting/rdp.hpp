#pragma once
// Rényi accounting of the Poisson-subsampled Gaussian, and the moments of its privacy loss, which the PLD accountant
// needs too.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
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

// Quadrature. The privacy loss of one subsampled Gaussian step as a function of the standardised outcome y = x/z, and
// the rule that integrates its moments.

/// log of the likelihood ratio N(1,z²)/N(0,z²).
inline double gaussian_loss(double y, double z) {
    return y / z - 1 / (2 * z * z);
}

/// L(y) = log(1 − q + q·e^u), u the Gaussian's loss, to full relative precision.
inline double mixture_loss(double u, double q) {
    if (q == 1) return u;
    if (u > 30) return u + std::log(q + (1 - q) * std::exp(-u));
    const double excess = q * std::expm1(u);
    return excess < -0.4 ? std::log((1 - q) + q * std::exp(u)) : std::log1p(excess);
}

/// Slope dL/du, in [0, 1].
inline double mixture_share(double u, double q) {
    return q == 1 ? 1 : 1 / (1 + (1 - q) / q * std::exp(-u));
}

/// Nodes of the trapezoidal rule for E_{y~N(0,1)}[e^{αL(y)}], α = 1 + λ (remove) or −λ (add).
struct quadrature_grid {
    double first, step;
    long count;
};

/// The rule converges geometrically on analytic integrands: the error is e^{-2πd/step} times the growth of the
/// integrand on the lines Im y = ±d, which is at most e^{d²/2}, for add also (1/cos(d/2z))^λ; L is analytic for d < πz
/// (Trefethen and Weideman 2014). Steps are chosen for a relative error of e^-36.
inline quadrature_grid moment_grid(direction side, double lambda, double z, double q) {
    constexpr double pi = std::numbers::pi, margin = 9;  // e^{-margin²/2} < 3e-18
    double low = -margin, high = margin;
    double step = std::min(0.74, 2 * pi * pi * z / (36 + pi * pi * z * z / 2));
    if (side == direction::remove) {
        high += (1 + lambda) / z;  // L has slope at most 1/z: no mode lies above (1 + λ)/z
    } else {
        double left = -lambda / z, right = 0;  // the mode, where −y = λ·L'(y)
        for (int i = 0; i < 60; ++i) {
            const double y = (left + right) / 2;
            (-y > lambda * mixture_share(gaussian_loss(y, z), q) / z ? left : right) = y;
        }
        low += left;
        step = std::min(step / 2, 0.74 / std::sqrt(1 + lambda / (4 * z * z)));
    }
    return {low, step, static_cast<long>(std::min((high - low) / step, 1e9)) + 1};
}

}  // namespace rldp::privacy
