#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "privacy/accounting/rdp_quadrature.hpp"

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

}  // namespace rldp::privacy
