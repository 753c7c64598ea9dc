// What a mesh costs. Splitting the mass of a cell [a, b] between its ends so that both P and Q mass are kept (connect
// the dots) multiplies E[e^{λL}] at loss l by 1 + λ(λ+1)/2·(l−a)(b−l) to second order. As ε moves by log E[e^{λL}]/λ,
// one step adds (λ+1)/2·E_λ[(l−a)(b−l)] to ε, E_λ the tilted expectation. That is (λ+1)/12·E_λ[h²] where losses spread
// over many cells and (λ+1)/2·E_λ[h·|l−o|] where most lie in the cells next to the offset o. The estimate decides about
// precision only; the bound holds for every mesh.
#include <array>
#include <cmath>
#include <numbers>

#include "privacy/pld_atoms.hpp"
#include "privacy/rdp_quadrature.hpp"

namespace rldp::privacy {
namespace {

constexpr double mesh_share = 0.7;  // of the tolerance goes to h, the rest to wider cells in thin regions

/// Tilted losses of a whole list: a histogram of |l − o| over powers of 2^(1/4), and the number of cells that
/// the cube-root rule (discretise) needs.
class tilted_losses {
  public:
    void add(direction side, double lambda, const run& r) {
        const double z = r.noise_multiplier, q = r.sample_rate,
                     alpha = side == direction::remove ? 1 + lambda : -lambda;
        const double origin = mixture_loss(gaussian_loss(0, z), q), steps = static_cast<double>(r.steps);
        quadrature_grid grid = moment_grid(side, lambda, z, q);
        if (grid.count > 4000) {
            grid.step *= static_cast<double>(grid.count) / 4000;
            grid.count = 4000;
        }
        const double log_norm = log_moment(side, lambda, z, q) + std::log(2 * std::numbers::pi) / 2;
        for (long i = 0; i < grid.count; ++i) {
            const double y = grid.first + static_cast<double>(i) * grid.step, u = gaussian_loss(y, z);
            const double loss = mixture_loss(u, q), density = std::exp(-y * y / 2 + alpha * loss - log_norm);
            const double weight = density * grid.step, slope = mixture_share(u, q) / z;
            cells_ += std::cbrt(steps * (lambda + 1) / 12 * density * slope * slope) * grid.step;
            const double distance = std::max(std::abs(loss - origin), 1e-18);
            const auto bin = std::clamp(4 * (std::log2(distance) + 60), 0.0, 399.0);
            weight_[static_cast<std::size_t>(bin)] += steps * weight;
            moment_[static_cast<std::size_t>(bin)] += steps * weight * distance;
        }
    }
    double cells() const { return cells_; }
    /// Σ steps·E_λ[(l−a)(b−l)] for cells of width h.
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

mesh mesh::choose(direction side, double lambda, std::span<const run> runs, double tolerance, double tail) {
    tilted_losses losses;
    for (const run& r : runs) {
        if (r.noise_multiplier >= least_resolved_multiplier) losses.add(side, lambda, r);
    }
    double low = std::log(1e-16), high = std::log(1e4);
    for (int i = 0; i < 50; ++i) {
        const double h = (low + high) / 2;
        ((lambda + 1) / 2 * losses.spread(std::exp(h)) > mesh_share * tolerance ? high : low) = h;
    }
    // Cells of equal error e number (Σ cells)·e^{-1/3}: together they add (Σ cells)·e^{2/3}.
    const double cell_error = std::pow((1 - mesh_share) * tolerance / std::max(losses.cells(), 1e-300), 1.5);
    return {side, lambda, std::exp(low), cell_error, tail};
}

}  // namespace rldp::privacy
