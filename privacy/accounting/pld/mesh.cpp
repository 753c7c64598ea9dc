#include "privacy/accounting/pld/mesh.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "privacy/accounting/rdp_quadrature.hpp"

namespace rldp::privacy {
namespace {

constexpr double mesh_share = 0.7;  // of the tolerance goes to h, the rest to wider cells in thin regions

/// The weighted losses of a whole list: a histogram of |l − o| over powers of 2^(1/4), and the number of cells that the
/// cube-root rule (discretise) needs.
class weighted_losses {
  public:
    void add(direction side, const sensitivity& weight, const phase& r) {
        const double z = r.noise_multiplier, q = r.sample_rate, steps = static_cast<double>(r.steps);
        const double origin = mixture_loss(gaussian_loss(0, z), q);
        const quadrature_grid grid = moment_grid(side, weight.lambda(), z, q);
        const double reach = grid.step * static_cast<double>(grid.count);
        const double stride = std::max(std::min(grid.step, 0.25), reach / 4000);
        const outcome_weight weighted(side, weight, r);
        for (double y = grid.first; y < grid.first + reach; y += stride) {
            const double u = gaussian_loss(y, z), loss = mixture_loss(u, q), density = weighted(y, loss);
            const double slope = mixture_share(u, q) / z;
            cells_ += std::cbrt(steps / 12 * density * slope * slope) * stride;
            const double distance = std::max(std::abs(loss - origin), 1e-18);
            const auto bin = static_cast<std::size_t>(std::clamp(4 * (std::log2(distance) + 60), 0.0, 399.0));
            weight_[bin] += steps * density * stride;
            moment_[bin] += steps * density * stride * distance;
        }
    }
    double cells() const { return cells_; }
    /// Σ steps·E[ρ·(l−a)(b−l)] for cells of width h: h²/6 where losses spread over many cells, h·|l−o| next to the
    /// offset o.
    double spread(double h) const {
        double sum = 0;
        for (std::size_t i = 0; i < weight_.size(); ++i) sum += std::min(h * h / 6 * weight_[i], h * moment_[i]);
        return sum;
    }

  private:
    std::array<double, 400> weight_{}, moment_{};
    double cells_ = 0;
};

}  // namespace

outcome_weight::outcome_weight(direction side, const sensitivity& weight, const phase& step)
    : remove_(side == direction::remove), weight_(weight) {
    const double z = step.noise_multiplier, q = step.sample_rate, lambda = weight.lambda();
    log_tilt_ = std::log(weight.tilted_share() * (lambda + 1)) - log_moment(side, lambda, z, q);
    if (weight.tilted_share() == 1) return;
    for (double y = -8; y < 8 + 1 / z; y += 0.25) {
        const double loss = mixture_loss(gaussian_loss(y, z), q);
        mean_ += 0.25 * (remove_ ? loss : -loss) * std::exp(log_density(y, loss));
    }
}

/// log p(y) under P.
double outcome_weight::log_density(double y, double loss) const {
    return (remove_ ? loss : 0) - y * y / 2 - std::log(2 * std::numbers::pi) / 2;
}

double outcome_weight::operator()(double y, double loss) const {
    const double own = remove_ ? loss : -loss, log_p = log_density(y, loss);
    return std::exp(log_p + log_tilt_ + weight_.lambda() * own) + std::exp(log_p) * weight_.composed(own, mean_);
}

mesh mesh::choose(direction side, sensitivity weight, std::span<const phase> phases, double tolerance, double tail) {
    weighted_losses losses;
    for (const phase& r : phases) {
        if (r.noise_multiplier >= least_resolved_multiplier) losses.add(side, weight, r);
    }
    double low = std::log(1e-15), high = std::log(1e4);  // indices of losses stay within 64 bits
    for (int i = 0; i < 50; ++i) {
        const double h = (low + high) / 2;
        (losses.spread(std::exp(h)) / 2 > mesh_share * tolerance ? high : low) = h;
    }
    // Cells of equal error e number (Σ cells)·e^{-1/3}: together they add (Σ cells)·e^{2/3}.
    const double cell_error = std::pow((1 - mesh_share) * tolerance / std::max(losses.cells(), 1e-300), 1.5);
    return {side, std::move(weight), std::exp(low), cell_error, tail};
}

}  // namespace rldp::privacy
