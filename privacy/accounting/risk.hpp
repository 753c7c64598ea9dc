#pragma once
// What somebody who sees all that a mechanism releases can tell about one unit: how often a test of "was it there?" is
// right, at its best (Wasserman and Zhou 2010; Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022). docs/privacy.md §17.
#include <span>
#include <vector>

#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/pld/pld.hpp"

namespace rldp::privacy {

/// A Gaussian mechanism whose attacker is at least as good at 65 false-positive rates from `least_rate` to a half,
/// evenly in their logarithm, and by how much of the true-positive rate he is better at most there.
struct gaussian_cover {
    double mu, excess;
};

/// An attacker's best true-positive rate as a function of his false-positive rate, from above, whichever of the two
/// neighbours he has to recognise.
class trade_off {
  public:
    /// Of a composition of Poisson-subsampled Gaussians, with δ that other things add (padding, a broken assumption).
    /// Errors: bad_input as accountant::epsilon; an additive δ outside [0, 1].
    explicit trade_off(std::span<const phase> phases, double additive_delta = 0);
    /// Of whatever is (ε, δ). Errors: bad_input unless ε is finite and not negative, and 0 ≤ δ ≤ 1.
    trade_off(double epsilon, double delta);
    /// Of a unit that lies in one of the two, nobody knows in which: the worse at each rate.
    trade_off worse_of(const trade_off& other) const;

    /// Errors: bad_input unless the rate lies in [0, 1].
    double true_positive_rate(double false_positive_rate) const;
    /// The largest difference of both rates.
    double advantage() const;
    /// Where the curve reaches 1, which no Gaussian covers, μ is +inf.
    gaussian_cover cover(double least_rate = 1e-4) const;

  private:
    std::vector<std::vector<privacy_point>> profiles_;
};

/// Rates that are shown wherever a risk is.
inline constexpr double shown_rates[] = {0.001, 0.01, 0.1};

}  // namespace rldp::privacy
