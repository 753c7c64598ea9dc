#pragma once
// Privacy loss distributions: an upper bound on ε that is tight to a chosen relative accuracy.
#include <memory>
#include <span>
#include <vector>

#include "privacy/accounting/accountant.hpp"

namespace rldp::privacy {

/// `accuracy` is how far above the exact ε the mesh may put the bound, relative to ε. Coarser is faster (1e-2 prices
/// 240 different phases in tens of milliseconds) and stays a bound. Errors: bad_input outside [1e-6, 0.1].
std::unique_ptr<accountant> make_pld(double accuracy = 1.5e-4);

/// A point of the privacy curve.
struct privacy_point {
    double epsilon, delta;
};
/// δ at each of `epsilons`, each with a mesh and window of its own, so that small δ are as precise as large ones.
std::vector<privacy_point> pld_curve(std::span<const phase> phases, std::span<const double> epsilons,
                                     double accuracy = 1.5e-4);

/// The whole curve: δ at many ε, for both directions together, an upper bound at each. Tight, to `accuracy` relative to
/// ε, where δ lies between 1e-5 and 1; a few compositions make all of it.
std::vector<privacy_point> privacy_profile(std::span<const phase> phases, double accuracy = 1e-3);

}  // namespace rldp::privacy
