#pragma once
// The privacy loss of a list of phases: which losses are kept, and their composition as a bound on δ(ε).
#include <span>
#include <vector>

#include "privacy/accounting/pld/discretisation.hpp"

namespace rldp::privacy {

// Window. Which losses of a composition need be kept, and under which tilt.

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

// Composition. That of a list of phases in one direction, as a function δ(ε) that is an upper bound everywhere and
// tight near its target.

class composition {
  public:
    /// `lambda` is the scale of the tilts tried.
    composition(std::span<const phase> phases, mesh on, double lambda, const target& at);
    double delta(double epsilon) const;
    /// delta() at each of `ascending`, in one pass.
    std::vector<double> deltas(std::span<const double> ascending) const;
    /// The smallest ε ≥ 0 with delta(ε) ≤ δ, which is below 1; +inf if there is none.
    double epsilon(double delta) const;
    /// The part of delta(ε) that only bounds what window and rounding may have lost.
    double correction(double epsilon) const;
    /// |dδ/dε|
    double slope(double epsilon) const;
    /// What a finer mesh for the same phases has to look at.
    sensitivity at(double epsilon, double lambda) const;

  private:
    class suffix;
    double loss(std::int64_t index) const { return offset_ + static_cast<double>(first_ + index) * width_; }

    double width_ = 0;
    window window_{};
    double offset_ = 0;           ///< Σ steps·offset
    double infinite_ = 0;         ///< mass at +∞
    double excess_ = 0;           ///< what window and rounding may add to δ(ε), over M^T·e^{-λε}
    double margin_ = 1;           ///< factor that covers the rounding of masses
    std::int64_t first_ = 0;      ///< index of the window's lowest loss
    std::vector<double> tilted_;  ///< tilted masses in the window
};

}  // namespace rldp::privacy
