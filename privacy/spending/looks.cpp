#include "privacy/spending/looks.hpp"

#include <cmath>

#include "config/base/require.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/gdp.hpp"

namespace rldp::privacy {

double compute_epsilon(const look_plan& looks, double delta) {
    require(delta > 0 && delta < 1, "looks: delta lies outside (0, 1)");
    if (looks.count == 0) return 0;
    return gaussian_epsilon(std::sqrt(static_cast<double>(looks.count)) / looks.noise_multiplier, delta);
}

double noise_of_looks(std::int64_t count, double epsilon, double delta) {
    require(count >= 1 && epsilon > 0 && std::isfinite(epsilon), "looks: a number and a finite budget are needed");
    const auto affordable = [&](double z) { return compute_epsilon({count, z}, delta) <= epsilon; };
    double high = 1;
    while (!affordable(high)) high *= 2;
    double low = high / 2;
    while (affordable(low)) low /= 2, high /= 2;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (affordable(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace rldp::privacy
