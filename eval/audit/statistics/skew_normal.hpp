#pragma once
// The skew-normal distribution (Azzalini 1985): its far lower tail, and its fit to values.
#include <vector>

namespace rldp::eval {

/// Density 2/ω·φ(z)·Φ(αz) with z = (x − ξ)/ω.
struct skew_normal {
    double location;  ///< ξ
    double scale;     ///< ω > 0
    double shape;     ///< α
};

/// Natural logarithm of the distribution function, at most 0. To 1e-8 or better however far down, where the function
/// itself underflows; to 1e-2 for shapes beyond 10⁶, whose density has a step.
double log_cdf(const skew_normal& law, double x);

struct skew_normal_fit {
    skew_normal law;  ///< of maximum likelihood
    double distance;  ///< Kolmogorov–Smirnov: the largest difference to the values' own distribution function
    /// Of that distance, asymptotically. Optimistic: it leaves out that the law was fitted to the same values. A small
    /// one says that the law is wrong, a large one says nothing of the far tail.
    double p_value;
};

/// Where values are so skewed that the likelihood has its supremum at an infinite shape, a large finite one stands for
/// it. Errors: bad_input for fewer than limits::fewest_references values, an infinite or NaN one, all equal.
skew_normal_fit fit_skew_normal(std::vector<double> values);

}  // namespace rldp::eval
