#pragma once
// The composition of a list of runs in one direction, as a function δ(ε) that is an upper bound everywhere and tight
// near its target.
#include <span>
#include <vector>

#include "privacy/pld_window.hpp"

namespace rldp::privacy {

class composition {
  public:
    composition(std::span<const run> runs, mesh on, const target& at);
    double delta(double epsilon) const;
    /// The smallest ε ≥ 0 with delta(ε) ≤ δ, which is below 1; +inf if there is none.
    double epsilon(double delta) const;

  private:
    class suffix;
    double out_of_window(double epsilon) const;
    double loss(std::int64_t index) const { return offset_ + static_cast<double>(first_ + index) * width_; }

    double width_ = 0;
    window window_{};
    double offset_ = 0;           ///< Σ steps·offset
    double infinite_ = 0;         ///< mass at +∞
    double margin_ = 1;           ///< factor that covers the rounding of masses
    std::int64_t first_ = 0;      ///< index of the window's lowest loss
    std::vector<double> tilted_;  ///< tilted masses in the window
};

}  // namespace rldp::privacy
