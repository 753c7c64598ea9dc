#include "privacy/pld.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/error.hpp"
#include "privacy/accountant_runs.hpp"
#include "privacy/pld_compose.hpp"
#include "privacy/rdp.hpp"

namespace rldp::privacy {
namespace {

/// At most 24 runs that cost about the same: enough to find a tilt, which needn't be exact.
std::vector<run> outline(std::span<const run> runs) {
    constexpr std::size_t most = 24;
    const std::size_t group = (runs.size() + most - 1) / most;
    if (group <= 1) return {runs.begin(), runs.end()};
    std::vector<run> out;
    for (std::size_t i = 0; i < runs.size(); i += group) {
        run sum{0, 0, 0};
        for (const run& r : runs.subspan(i, std::min(group, runs.size() - i))) {
            sum.noise_multiplier += r.noise_multiplier * static_cast<double>(r.steps);
            sum.sample_rate += r.sample_rate * static_cast<double>(r.steps);
            sum.steps += r.steps;
        }
        out.push_back({sum.noise_multiplier / static_cast<double>(sum.steps),
                       sum.sample_rate / static_cast<double>(sum.steps), sum.steps});
    }
    return out;
}

double total_steps(std::span<const run> runs) {
    double sum = 0;
    for (const run& r : runs) sum += static_cast<double>(r.steps);
    return sum;
}

class pld final : public accountant {
  public:
    explicit pld(double accuracy) : accuracy_(accuracy) {
        if (!(accuracy >= 1e-6 && accuracy <= 0.1))
            refuse(fmt::format("pld: accuracy {} must lie in [1e-6, 0.1]", accuracy));
    }
    std::string_view name() const override { return "pld"; }
    bool is_upper_bound() const override { return true; }

    double epsilon(std::span<const run> runs, double delta) const override {
        check_delta(delta);
        const auto checked = checked_runs(runs);
        double worst = 0;
        if (checked.empty()) return worst;
        for (const direction side : {direction::remove, direction::add}) {
            const double lambda = best_order_for_delta(side, outline(checked), delta).lambda;
            const double renyi =
                (log_moment(side, lambda, checked) - std::log(delta) + log_conversion(lambda)) / lambda;
            if (renyi > worst)
                worst = std::max(worst, std::min(renyi, refine_epsilon(side, checked, delta, lambda, renyi)));
        }
        return worst;
    }

    double delta(std::span<const run> runs, double epsilon) const override {
        check_epsilon(epsilon);
        const auto checked = checked_runs(runs);
        double worst = 0;
        if (checked.empty()) return worst;
        for (const direction side : {direction::remove, direction::add}) {
            const double lambda = best_order_for_epsilon(side, outline(checked), epsilon);
            const double chernoff =
                std::exp(std::min(0.0, log_moment(side, lambda, checked) - lambda * epsilon + log_conversion(lambda)));
            if (chernoff > worst) worst = std::max(worst, refine_delta(side, checked, epsilon, lambda, chernoff));
        }
        return worst;
    }

  private:
    /// The tilt and the mesh start from the Rényi bound; where that was far off, from the first answer.
    double refine_epsilon(direction side, std::span<const run> runs, double delta, double lambda, double renyi) const {
        const double tail = 1e-7 * delta / total_steps(runs);
        // The Rényi bound is above ε by half at most, usually, and by 8/λ at most.
        double best = renyi, guess = std::max(renyi / 2, renyi - 8 / lambda);
        for (int attempt = 0; attempt < 3; ++attempt) {
            const auto on = mesh::choose(side, lambda, runs, accuracy_ * std::max(guess, smallest_guess), tail);
            best = std::min(best, composition(runs, on, {guess, delta}).epsilon(delta));
            if ((best >= guess / 2 && lambda * (guess - best) < 4) || best <= smallest_guess) break;
            guess = best;
            lambda = best_order_for_epsilon(side, outline(runs), best);
        }
        return best;
    }

    /// Near ε = 0, δ changes by at most half of what ε does: δ itself is then the scale of losses.
    double refine_delta(direction side, std::span<const run> runs, double epsilon, double lambda,
                        double chernoff) const {
        double best = chernoff, scale = std::max(epsilon, std::min(1 / lambda, 1.0));
        for (int attempt = 0; attempt < 3; ++attempt) {
            const double expected = best / 100, tail = std::max(1e-8 * expected / total_steps(runs), 1e-280);
            const auto on = mesh::choose(side, lambda, runs, accuracy_ * scale, tail);
            best = std::min(best, composition(runs, on, {epsilon, expected}).delta(epsilon));
            if (best >= expected / 10 && (std::max(epsilon, best) >= scale / 2 || scale <= smallest_guess)) break;
            scale = std::max({epsilon, best, smallest_guess});
        }
        return best;
    }

    static constexpr double smallest_guess = 1e-9;
    double accuracy_;
};

}  // namespace

std::unique_ptr<accountant> make_pld(double accuracy) {
    return std::make_unique<pld>(accuracy);
}

std::vector<privacy_point> pld_curve(std::span<const run> runs, std::span<const double> epsilons, double accuracy) {
    const pld with(accuracy);
    std::vector<privacy_point> points;
    for (const double epsilon : epsilons) points.push_back({epsilon, with.delta(runs, epsilon)});
    return points;
}

}  // namespace rldp::privacy
