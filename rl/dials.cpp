#include "rl/dials.hpp"

#include <algorithm>
#include <cmath>

#include "privacy/spending/noise_range.hpp"

namespace rldp::rl {
namespace {

constexpr double largest_step = 0.1;  // δ_max, of a logarithm
constexpr double smoothing = 0.8;     // β_σ

double smoothed(double old, double step, double low, double high) {
    return smoothing * old + (1 - smoothing) * std::clamp(old + step, low, high);
}

}  // namespace

std::vector<double> radii_from(std::span<const double> action, const std::vector<double>& base_radii, double clip_min,
                               double clip_max) {
    std::vector<double> radii;
    for (std::size_t i = 0; i < action.size(); ++i) {
        const double scale = base_radii.empty() ? 1 : base_radii[i];
        radii.push_back(std::clamp(scale * std::exp(action[i]), clip_min, clip_max));
    }
    return radii;
}

double next_log_sigma(double log_sigma, double action, double spent_fraction, double initial_noise_multiplier) {
    // ε_t is for orientation and may pass ε_max at the very end; the step then is 0, never reversed.
    const double step = std::tanh(action) * largest_step * std::max(0.0, 1 - spent_fraction);
    const privacy::noise_range allowed(initial_noise_multiplier);
    return smoothed(log_sigma, step, std::log(allowed.least), std::log(allowed.most));
}

std::vector<double> shares_from(std::span<const double> action) {
    // A share must stay positive in floating point: the noise of a group is finite only then. The Gaussian policy is
    // not squashed, so its logits are held within ±10.
    std::vector<double> shares;
    double sum = 0;
    for (const double a : action) {
        shares.push_back(std::exp(std::clamp(a, -10.0, 10.0)));
        sum += shares.back();
    }
    for (double& share : shares) share /= sum;
    return shares;
}

double next_log_lr(double log_lr, double action) {
    return smoothed(log_lr, std::tanh(action) * largest_step, -std::log(4.0), std::log(4.0));
}

}  // namespace rldp::rl
