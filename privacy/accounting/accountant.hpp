#pragma once
// What a list of Poisson-subsampled Gaussian steps costs, under three accountants. Add/remove-one adjacency throughout.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::privacy {

/// `steps` steps at noise multiplier z (standard deviation over L2 sensitivity) and sample rate q.
struct phase {
    double noise_multiplier;
    double sample_rate;
    std::int64_t steps;
    bool operator==(const phase&) const = default;
};

class accountant {
  public:
    virtual ~accountant() = default;
    virtual std::string_view name() const = 0;
    /// Whether epsilon() never under-reports. gdp_clt is not an upper bound.
    virtual bool is_upper_bound() const = 0;
    /// Smallest ε known at δ for the composition; +inf where none is finite; 0 for no steps.
    /// Errors: bad_input for z ≤ 0 or not finite, q outside [0, 1], negative steps, δ outside (0, 1).
    virtual double epsilon(std::span<const phase> phases, double delta) const = 0;
    /// The inverse: δ at ε ≥ 0.
    virtual double delta(std::span<const phase> phases, double epsilon) const = 0;
};

/// "pld" (privacy loss distributions), "rdp" (Mironov, Talwar, Zhang 2019; Canonne, Kamath, Steinke 2020),
/// "gdp_clt" (Dong, Roth, Su: an approximation that can under-report). Errors: bad_input for another name.
std::unique_ptr<accountant> make_accountant(std::string_view name);

/// Rényi divergence of order alpha > 1 of one subsampled Gaussian step (upper bound for fractional orders).
double subsampled_gaussian_rdp(double alpha, double noise_multiplier, double sample_rate);

/// ε of gdp_clt's μ at δ, by the exact Gaussian trade-off curve. Also the published accountant.
double gaussian_epsilon(double mu, double delta);

/// A composition as a function of one scale: the phases when the base noise multiplier is `z`.
struct calibration {
    double noise_multiplier;  ///< smallest found, from the safe side
    double epsilon;           ///< what it composes to, at most the target
};
/// Smallest z_0 so that `shape` with every noise multiplier scaled by z_0 composes to at most ε at δ, within 1e-3 of ε
/// (relative 1e-6 in z_0). `shape` holds multiples of z_0. Errors: bad_input naming the smallest ε reachable if none
/// is.
calibration calibrate(const accountant& with, std::span<const phase> shape, double epsilon, double delta);

// Checks. What every accountant does with a list of phases before pricing it.

/// Checks every number, drops what costs nothing (no steps, q = 0) and joins equal (z, q), sorted: the order of a list
/// never changes its price. Errors: bad_input naming the phase.
std::vector<phase> checked_phases(std::span<const phase> phases);
/// Errors: bad_input unless 0 < δ < 1.
void check_delta(double delta);
/// Errors: bad_input unless ε is finite and not negative.
void check_epsilon(double epsilon);

}  // namespace rldp::privacy
