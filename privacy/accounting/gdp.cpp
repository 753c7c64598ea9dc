#include "privacy/accounting/gdp.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"
#include "privacy/accounting/accountant.hpp"

namespace rldp::privacy {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double normal_density(double x) {
    return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

/// Mills' ratio Φ(−x)/φ(x) for x ≥ 0, free of underflow.
double mills(double x) {
    if (x < 20) return std::erfc(x / std::numbers::sqrt2) / 2 / normal_density(x);
    double fraction = x;  // Laplace's continued fraction x + 1/(x + 2/(x + 3/…)), converged for x ≥ 20
    for (int k = 12; k > 0; --k) fraction = x + k / fraction;
    return 1 / fraction;
}

class gdp_clt final : public accountant {
  public:
    std::string_view name() const override { return "gdp_clt"; }
    bool is_upper_bound() const override { return false; }
    double epsilon(std::span<const phase> phases, double delta) const override {
        check_delta(delta);
        return gaussian_epsilon(central_limit_mu(phases), delta);
    }
    double delta(std::span<const phase> phases, double epsilon) const override {
        return gaussian_delta(central_limit_mu(phases), epsilon);
    }
};

void check_mu(double mu) {
    if (!(mu >= 0)) refuse(fmt::format("mu {} must not be negative", mu));
}

}  // namespace

double gaussian_delta(double mu, double epsilon) {
    check_mu(mu);
    check_epsilon(epsilon);
    if (mu == 0) return 0;
    if (mu == infinity) return 1;
    const double a = mu / 2 - epsilon / mu, b = mu / 2 + epsilon / mu;
    // e^ε·φ(b) = φ(a): with Mills' ratio neither e^ε overflows nor Φ(−b) underflows.
    if (a > 0) return std::erfc(-a / std::numbers::sqrt2) / 2 - normal_density(a) * mills(b);
    return normal_density(a) * (mills(-a) - mills(b));
}

double gaussian_epsilon(double mu, double delta) {
    check_mu(mu);
    check_delta(delta);
    if (mu == infinity) return infinity;
    if (gaussian_delta(mu, 0) <= delta) return 0;
    double low = 0, high = 1;
    while (gaussian_delta(mu, high) > delta) {
        low = high;
        high *= 2;
        if (high == infinity) return infinity;
    }
    while (high - low > 1e-13 * high) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        (gaussian_delta(mu, middle) > delta ? low : high) = middle;
    }
    return high;
}

double central_limit_mu(std::span<const phase> phases) {
    double sum = 0;
    for (const phase& r : checked_phases(phases)) {
        const double z = r.noise_multiplier;
        const double mu = r.sample_rate * std::sqrt(static_cast<double>(r.steps) * std::expm1(1 / z / z));
        sum += mu * mu;
    }
    return std::sqrt(sum);
}

double published_epsilon(published_formula formula, std::span<const phase> phases, double delta) {
    check_delta(delta);
    if (formula == published_formula::central_limit) return gaussian_epsilon(central_limit_mu(phases), delta);
    if (checked_phases(phases).empty()) return 0;
    double steps = 0;
    for (const phase& r : phases) steps += static_cast<double>(r.steps);
    const phase& last = phases.back();
    return gaussian_epsilon(last.sample_rate * std::sqrt(steps) * std::expm1(1 / last.noise_multiplier), delta);
}

std::unique_ptr<accountant> make_gdp_clt() {
    return std::make_unique<gdp_clt>();
}

}  // namespace rldp::privacy
