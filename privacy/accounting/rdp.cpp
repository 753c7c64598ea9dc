#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/error.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/rdp.hpp"

namespace rldp::privacy {
namespace {

constexpr double relative_margin = 1e-7;  // covers quadrature and rounding
constexpr long most_nodes = 200'000;

/// E[e^{λL}] − 1 by an integrand that is nowhere negative: with w = e^L − 1 of mean 0 under Q, remove adds
/// (1+w)(e^{λL} − 1) − λw and add (e^{-λL} − 1) + λw. Keeps moments that are close to 1 precise; NaN or inf if they are
/// not.
double moment_minus_one(direction side, double lambda, double z, double q, const quadrature_grid& grid) {
    double sum = 0;
    for (long i = 0; i < grid.count; ++i) {
        const double y = grid.first + static_cast<double>(i) * grid.step;
        const double u = gaussian_loss(y, z), loss = mixture_loss(u, q);
        const double w = u < 30 ? q * std::expm1(u) : std::expm1(loss);
        const double excess = side == direction::remove ? (1 + w) * std::expm1(lambda * loss) - lambda * w
                                                        : std::expm1(-lambda * loss) + lambda * w;
        sum += std::exp(-y * y / 2) * std::max(excess, 0.0);
        if (!(sum < 1e10)) return std::numeric_limits<double>::infinity();
    }
    return sum * grid.step / std::sqrt(2 * std::numbers::pi);
}

/// log E_{N(0,1)}[e^{αL}] with the largest term taken out.
double log_moment_large(double alpha, double z, double q, const quadrature_grid& grid) {
    std::vector<double> terms(static_cast<std::size_t>(grid.count));
    double largest = -std::numeric_limits<double>::infinity();
    for (long i = 0; i < grid.count; ++i) {
        const double y = grid.first + static_cast<double>(i) * grid.step;
        const double term = -y * y / 2 + alpha * mixture_loss(gaussian_loss(y, z), q);
        terms[static_cast<std::size_t>(i)] = term;
        largest = std::max(largest, term);
    }
    double sum = 0;
    for (const double term : terms) sum += std::exp(term - largest);
    return largest + std::log(sum * grid.step / std::sqrt(2 * std::numbers::pi));
}

}  // namespace

double log_moment(direction side, double lambda, double z, double q) {
    if (q == 0 || lambda == 0) return 0;
    const double gaussian =
        lambda / z * ((lambda + 1) / z) / 2;  // without subsampling: exact for q = 1, else an upper bound
    if (q == 1 || !std::isfinite(gaussian)) return gaussian;
    const quadrature_grid grid = moment_grid(side, lambda, z, q);
    if (grid.count > most_nodes) return gaussian;
    const double excess = moment_minus_one(side, lambda, z, q, grid);
    const double moment = std::isfinite(excess)
                              ? std::log1p(excess)
                              : log_moment_large(side == direction::remove ? 1 + lambda : -lambda, z, q, grid);
    return std::min(gaussian, moment * (1 + relative_margin));
}

double log_moment(direction side, double lambda, std::span<const phase> phases) {
    double sum = 0;
    for (const phase& r : phases)
        sum += static_cast<double>(r.steps) * log_moment(side, lambda, r.noise_multiplier, r.sample_rate);
    return sum;
}

namespace {

constexpr double smallest_log = -23, largest_log = 16;  // of λ; beyond them a bound changes by less than 1e-6

/// Minimum of a quasi-convex function of log λ: walk downhill with growing steps, then golden section.
template <class F>
double minimise(F&& value, double start) {
    constexpr double golden = 0.6180339887498949, tolerance = 2e-3;
    double a = std::clamp(start, smallest_log + 1, largest_log - 1), fa = value(a), step = 0.7;
    double b = a + step, fb = value(b);
    if (fb > fa) {
        std::swap(a, b);
        std::swap(fa, fb);
        step = -step;
    }
    double c = b;
    for (;;) {  // a, b, c in a line with f(a) ≥ f(b); stop when f(c) ≥ f(b) or at the end of the range
        step *= 1.6;
        c = std::clamp(b + step, smallest_log, largest_log);
        if (c == b) break;
        const double fc = value(c);
        if (fc >= fb) break;
        a = b;
        b = c;
        fb = fc;
    }
    double low = std::min(a, c), high = std::max(a, c);
    double x = high - golden * (high - low), y = low + golden * (high - low), fx = value(x), fy = value(y);
    while (high - low > tolerance) {
        if (fx <= fy) {
            high = y;
            y = x;
            fy = fx;
            x = high - golden * (high - low);
            fx = value(x);
        } else {
            low = x;
            x = y;
            fx = fy;
            y = low + golden * (high - low);
            fy = value(y);
        }
    }
    return std::exp(fx <= fy ? x : y);
}

double epsilon_bound(direction side, double lambda, std::span<const phase> phases, double delta) {
    return (log_moment(side, lambda, phases) - std::log(delta) + log_conversion(lambda)) / lambda;
}

double log_delta_bound(direction side, double lambda, std::span<const phase> phases, double epsilon) {
    return log_moment(side, lambda, phases) - lambda * epsilon + log_conversion(lambda);
}

/// log λ that is best for a Gaussian of the same curvature, λ² = 2·log(1/δ)/Σ steps·q²(e^{1/z²} − 1), or where a draw
/// begins to dominate the moments, λ = 2z²·log(1/q), if that comes first.
double starting_order(std::span<const phase> phases, double log_inverse_delta) {
    double curvature = 0, most = 1e6;
    for (const phase& r : phases) {
        const double z = r.noise_multiplier, q = r.sample_rate;
        curvature += static_cast<double>(r.steps) * q * q * std::expm1(std::min(1 / z / z, 10.0));
        if (q < 1) most = std::min(most, 1 + 2 * z * z * -std::log(q));
    }
    return std::min(std::log(2 * log_inverse_delta / curvature) / 2, std::log(most));
}

class rdp final : public accountant {
  public:
    std::string_view name() const override { return "rdp"; }
    bool is_upper_bound() const override { return true; }

    // `remove` has the larger Rényi divergence at every order (Mironov, Talwar, Zhang 2019, Theorem 5), so it prices
    // both.
    double epsilon(std::span<const phase> phases, double delta) const override {
        check_delta(delta);
        const auto checked = checked_phases(phases);
        return checked.empty() ? 0 : std::max(0.0, best_order_for_delta(direction::remove, checked, delta).epsilon);
    }
    double delta(std::span<const phase> phases, double epsilon) const override {
        check_epsilon(epsilon);
        const auto checked = checked_phases(phases);
        if (checked.empty()) return 0;
        const double lambda = best_order_for_epsilon(direction::remove, checked, epsilon);
        return std::min(1.0, std::exp(log_delta_bound(direction::remove, lambda, checked, epsilon)));
    }
};

}  // namespace

double log_conversion(double lambda) {
    return lambda == 0 ? 0 : lambda * std::log(lambda) - (lambda + 1) * std::log1p(lambda);
}

// Both searches are over quasi-convex functions: λ ↦ log_moment is convex (Hölder), log_conversion is convex (its
// second derivative is 1/λ − 1/(1+λ)), and a convex function over λ > 0 is quasi-convex. So every order is tried, no
// grid is needed.
renyi_bound best_order_for_delta(direction side, std::span<const phase> phases, double delta) {
    const auto bound = [&](double log_lambda) { return epsilon_bound(side, std::exp(log_lambda), phases, delta); };
    const double lambda = minimise(bound, starting_order(phases, -std::log(delta)));
    return {lambda, epsilon_bound(side, lambda, phases, delta)};
}

double best_order_for_epsilon(direction side, std::span<const phase> phases, double epsilon) {
    const auto bound = [&](double log_lambda) { return log_delta_bound(side, std::exp(log_lambda), phases, epsilon); };
    return minimise(bound, starting_order(phases, 10));
}

double subsampled_gaussian_rdp(double alpha, double noise_multiplier, double sample_rate) {
    if (!(std::isfinite(alpha) && alpha > 1)) refuse(fmt::format("Rényi order {} must be finite and above 1", alpha));
    const phase step{noise_multiplier, sample_rate, 1};
    checked_phases({&step, 1});
    return log_moment(direction::remove, alpha - 1, noise_multiplier, sample_rate) / (alpha - 1);
}

std::unique_ptr<accountant> make_rdp() {
    return std::make_unique<rdp>();
}

}  // namespace rldp::privacy
