// With κ(s) = Σ steps·log Σ mass·e^{s·loss}, Chernoff's bound on the composition tilted by λ is, for s > λ,
//     P(L ≥ high) ≤ exp(κ(s) − κ(λ) − (s − λ)·high),
// and the same for L ≤ low and s < λ. A share `outside` of the tilted mass changes δ(ε) by at most
// outside·exp(κ(λ) − λε + log_conversion(λ)). So each pair (λ, s) gives a place to cut; the shortest window wins. A
// large tilt centres the window on ε and makes rounding harmless, a small one keeps heavy upper tails (few draws at
// little noise) short.
#include "privacy/accounting/pld/window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rldp::privacy {
namespace {

constexpr double log_wrapped = -12;          // what wrap-around may add to δ, relative: 6e-6
constexpr double log_rounded = -10;          // what rounding should add at most: 5e-5
constexpr double rounding_per_step = 3e-14;  // what is added for one step's Fourier rounding, roughly

/// κ at many exponents.
struct cumulants {
    std::vector<double> at, value;

    void add(std::span<const run_atoms> phases, double width, double s) {
        if (!std::isfinite(s)) return;
        double sum = 0;
        std::vector<double> scratch;
        for (const run_atoms& r : phases) sum += r.steps * r.tilt(s, width, scratch);
        if (!std::isfinite(sum)) return;
        at.push_back(s);
        value.push_back(sum);
    }
};

/// 0, λ/8, …, 4λ as tilts, and exponents on a geometric scale around them, up to what a narrow composition needs.
cumulants sample(std::span<const run_atoms> phases, double width, double lambda, double deviation) {
    cumulants out;
    for (const double i : {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32}) out.add(phases, width, lambda * i / 8);
    const double scale = std::max(lambda, 2 / deviation);
    for (double move = lambda / 8; move <= 4 * scale; move *= 2) {
        out.add(phases, width, lambda + move);
        out.add(phases, width, -move);
    }
    return out;
}

double composed_deviation(std::span<const run_atoms> phases, double width) {
    double variance = 0;
    std::vector<double> mass;
    for (const run_atoms& r : phases) {
        r.tilt(0, width, mass);
        double mean = 0, square = 0;
        for (std::size_t i = 0; i < mass.size(); ++i) mean += mass[i] * static_cast<double>(r.atoms.index[i]);
        for (std::size_t i = 0; i < mass.size(); ++i)
            square += mass[i] * std::pow(static_cast<double>(r.atoms.index[i]) - mean, 2);
        variance += r.steps * square;
    }
    return width * std::sqrt(variance);
}

}  // namespace

run_atoms::run_atoms(double count, loss_atoms of) : steps(count), atoms(std::move(of)), log_mass(atoms.mass) {
    for (double& m : log_mass) m = std::log(m);
}

double run_atoms::tilt(double lambda, double width, std::vector<double>& mass) const {
    mass.resize(log_mass.size());
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < mass.size(); ++i) {
        mass[i] = log_mass[i] + lambda * loss(i, width);
        largest = std::max(largest, mass[i]);
    }
    for (double& m : mass) sum += m = std::exp(m - largest);
    for (double& m : mass) m /= sum;
    return largest + std::log(sum);
}

window choose_window(std::span<const run_atoms> phases, double width, double lambda, const target& at) {
    double steps = 0;
    for (const run_atoms& r : phases) steps += r.steps;
    const cumulants kappa = sample(phases, width, lambda, std::max(composed_deviation(phases, width), width));
    const double unbounded = std::numeric_limits<double>::infinity();
    window best{lambda, 0, -unbounded, unbounded, 0};
    double best_score = unbounded;
    for (std::size_t i = 0; i < kappa.at.size(); ++i) {
        const double tilt = kappa.at[i];
        if (tilt < 0 || tilt > 4 * lambda) continue;
        // log of M(λ)·e^{-λε}·sup e^{-λt}(1 − e^{-t}) over δ
        const double inflation = kappa.value[i] - tilt * at.epsilon + log_conversion(tilt) - std::log(at.delta);
        const double log_outside = std::min(log_wrapped - inflation - at.log_caution, -1.0);
        double low = -unbounded, high = unbounded;
        for (std::size_t k = 0; k < kappa.at.size(); ++k) {
            const double gap = kappa.at[k] - tilt, cut = (kappa.value[k] - kappa.value[i] - log_outside) / gap;
            if (gap > 0) high = std::min(high, cut);
            if (gap < 0) low = std::max(low, cut);
        }
        const double rounding = std::max(inflation + std::log(rounding_per_step * steps), log_rounded);
        const double score = 2 * rounding + std::log(high - low);
        if (score < best_score) {
            best = {tilt, kappa.value[i], low, high, log_outside};
            best_score = score;
        }
    }
    return best;
}

}  // namespace rldp::privacy
