#pragma once
// What every accountant does with a list of phases before pricing it.
#include <span>
#include <string>
#include <vector>

#include "privacy/accounting/accountant.hpp"

namespace rldp::privacy {

/// Checks every number, drops what costs nothing (no steps, q = 0) and joins equal (z, q), sorted: the order of a list
/// never changes its price. Errors: bad_input naming the phase.
std::vector<phase> checked_phases(std::span<const phase> phases);
/// Errors: bad_input unless 0 < δ < 1.
void check_delta(double delta);
/// Errors: bad_input unless ε is finite and not negative.
void check_epsilon(double epsilon);

}  // namespace rldp::privacy
