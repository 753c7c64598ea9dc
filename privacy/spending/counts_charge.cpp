#include "privacy/spending/counts_charge.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/gdp.hpp"

namespace rldp::privacy {

counts_price price_counts(double epsilon, double delta, bool selects) {
    refuse_unless(is_positive(epsilon), fmt::format("ε is {}; give a finite number above 0", epsilon));
    check_delta(delta);
    counts_price out{.noise_multiplier = 0, .selection_delta = selects ? delta / 2 : 0};
    // Without the unit a value that it alone has is not named; with it, it may be, with probability p ≤
    // selection_delta. Seen from without: H(P‖(1 − p)Q + pR) ≤ H at e^ε·(1 − p) of (P‖Q) (docs/privacy.md §16).
    const double left = delta - out.selection_delta, at = epsilon + std::log1p(-out.selection_delta);
    refuse_unless(at > 0, fmt::format("ε is {}, below δ {:g}: that buys nothing; give more", epsilon, delta));
    const auto fits = [&](double multiplier) { return gaussian_delta(1 / multiplier, at) <= left; };
    double low = 1e-6, high = 1;
    while (!fits(high)) {
        low = high;
        high *= 2;
        refuse_unless(high < 1e12, fmt::format("ε is {} at δ {:g}: no noise is enough; give more", epsilon, delta));
    }
    while (high - low > 1e-12 * high) (fits((low + high) / 2) ? high : low) = (low + high) / 2;
    out.noise_multiplier = high * (1 + 1e-9);  // shares of lists add up to 1 but for rounding
    return out;
}

counts_charge charge_without_book(const counts_claim& claim) {
    return counts_charge(claim);
}

}  // namespace rldp::privacy
