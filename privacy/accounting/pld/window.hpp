#pragma once
// Which losses of a composition need be kept, and under which tilt.
#include <span>
#include <vector>

#include "privacy/accounting/pld/atoms.hpp"

namespace rldp::privacy {

/// The atoms of one phase as they are composed.
struct run_atoms {
    double steps;
    loss_atoms atoms;
    std::vector<double> log_mass;

    run_atoms(double steps, loss_atoms atoms);
    double loss(std::size_t i, double width) const {
        return atoms.offset + static_cast<double>(atoms.index[i]) * width;
    }
    /// Tilted masses e^{λ·loss}·mass/M(λ), and log M(λ).
    double tilt(double lambda, double width, std::vector<double>& mass) const;
};

/// Where a composition has to be precise: near ε and relative to δ.
struct target {
    double epsilon, delta;
    double log_caution = 0;  ///< how far off δ·e^{λε} may be, λ the tilt
};

/// Losses outside [low, high] change the tilted composition by at most e^log_outside of its mass.
struct window {
    double tilt;        ///< λ
    double log_moment;  ///< Σ steps·log M(λ)
    double low, high;
    double log_outside;
};
/// The tilt of at most 4·`lambda` with a short window and little rounding; infinite
/// if the losses are out of double's range.
window choose_window(std::span<const run_atoms> phases, double width, double lambda, const target& at);

}  // namespace rldp::privacy
