#pragma once
// Which losses a discretisation uses.
#include <span>

#include "privacy/accounting/pld/sensitivity.hpp"

namespace rldp::privacy {

/// Steps with less noise are priced as if a drawn unit were seen in the clear, which dominates any noise.
inline constexpr double least_resolved_multiplier = 0.05;

struct mesh {
    direction side;
    sensitivity weight;
    double width;       ///< h: losses are an offset plus a multiple of h
    double cell_error;  ///< what a cell wider than h may add to ε
    double tail;        ///< upper tail probability of a normal beyond which a step's losses are cut off

    /// The mesh that puts the bound on ε about `tolerance` above the exact value.
    static mesh choose(direction side, sensitivity weight, std::span<const phase> phases, double tolerance,
                       double tail);
};

/// ρ(l)·p(y) of one step: sensitivity times the density of its standardised outcome y under P.
class outcome_weight {
  public:
    outcome_weight(direction side, const sensitivity& weight, const phase& step);
    double operator()(double y, double loss) const;

  private:
    double log_density(double y, double loss) const;
    bool remove_;
    const sensitivity& weight_;
    double log_tilt_, mean_ = 0;  ///< log of what normalises the tilted part; mean loss
};

}  // namespace rldp::privacy
