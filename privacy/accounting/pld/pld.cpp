#include "privacy/accounting/pld/pld.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/pld/composition.hpp"
#include "privacy/accounting/rdp.hpp"

namespace rldp::privacy {
namespace {

/// At most 24 phases that cost about the same: enough to find a tilt, which needn't be exact.
std::vector<phase> outline(std::span<const phase> phases) {
    constexpr std::size_t most = 24;
    const std::size_t group = (phases.size() + most - 1) / most;
    if (group <= 1) return {phases.begin(), phases.end()};
    std::vector<phase> out;
    for (std::size_t i = 0; i < phases.size(); i += group) {
        phase sum{0, 0, 0};
        for (const phase& r : phases.subspan(i, std::min(group, phases.size() - i))) {
            sum.noise_multiplier += r.noise_multiplier * static_cast<double>(r.steps);
            sum.sample_rate += r.sample_rate * static_cast<double>(r.steps);
            sum.steps += r.steps;
        }
        out.push_back({sum.noise_multiplier / static_cast<double>(sum.steps),
                       sum.sample_rate / static_cast<double>(sum.steps), sum.steps});
    }
    return out;
}

double total_steps(std::span<const phase> phases) {
    double sum = 0;
    for (const phase& r : phases) sum += static_cast<double>(r.steps);
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

    double epsilon(std::span<const phase> phases, double delta) const override {
        check_delta(delta);
        const auto checked = checked_phases(phases);
        double worst = 0;
        if (checked.empty()) return worst;
        for (const direction side : {direction::remove, direction::add}) {
            const double lambda = best_order_for_delta(side, outline(checked), delta).lambda;
            const double renyi =
                (log_moment(side, lambda, checked) - std::log(delta) + log_conversion(lambda)) / lambda;
            if (renyi > worst)
                worst = std::max(worst, std::min(renyi, refine_epsilon(side, checked, delta, lambda, renyi).first));
        }
        return worst;
    }

    /// The last of the compositions that epsilon() makes in one direction: a bound everywhere, tight near δ.
    composition compose_near(direction side, std::span<const phase> checked, double delta) const {
        const double lambda = best_order_for_delta(side, outline(checked), delta).lambda;
        const double renyi = (log_moment(side, lambda, checked) - std::log(delta) + log_conversion(lambda)) / lambda;
        return refine_epsilon(side, checked, delta, lambda, std::max(renyi, smallest)).second;
    }

    double delta(std::span<const phase> phases, double epsilon) const override {
        check_epsilon(epsilon);
        const auto checked = checked_phases(phases);
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
    /// A coarse composition whose mesh relies on the Rényi bound, then finer ones whose meshes rely on the composition
    /// before, until what an answer loses is what the coarser mesh explains.
    std::pair<double, composition> refine_epsilon(direction side, std::span<const phase> phases, double delta,
                                                  double lambda, double renyi) const {
        const double tail = 1e-7 * delta / total_steps(phases);
        // The Rényi bound is above ε by half at most, usually, and by 8/λ at most.
        double best = renyi, guess = std::max(renyi / 2, renyi - 8 / lambda), coarseness = first_coarseness;
        double width = std::numeric_limits<double>::infinity();
        target at{guess, delta, unsure};
        sensitivity weight(lambda);
        std::optional<composition> last;
        for (int pass = 0; pass < most_passes; ++pass) {
            auto on =
                mesh::choose(side, std::move(weight), phases, coarseness * accuracy_ * std::max(guess, smallest), tail);
            on.width = width = std::min(on.width, width);
            const auto& made = last.emplace(phases, on, lambda, at);
            const double found = made.epsilon(delta), change = std::abs(best - found);
            best = std::min(best, found);
            if (best <= smallest || !std::isfinite(found)) break;
            if (pass > 0 && change <= 1.5 * first_coarseness * accuracy_ * best) break;
            if (pass > 0) lambda = best_order_for_epsilon(side, outline(phases), best);
            guess = best;
            at = {made.correction(best) > 0.1 * delta ? 0 : best, delta};  // 0: no idea yet
            weight = made.slope(best) > 0 ? made.at(best, lambda) : sensitivity(lambda);
            coarseness = 1;
        }
        return {best, std::move(*last)};
    }

    /// The same for δ, which is as accurate as ε, but within ten times that relative to δ.
    double refine_delta(direction side, std::span<const phase> phases, double epsilon, double lambda,
                        double chernoff) const {
        double best = chernoff, expected = chernoff / 100, coarseness = first_coarseness;
        double scale = std::max(epsilon, std::min(1 / lambda, 1.0));  // of ε; later δ/|δ'|
        double width = std::numeric_limits<double>::infinity();
        sensitivity weight(lambda);
        for (int pass = 0; pass < most_passes; ++pass) {
            const double tail = std::max((pass > 0 ? 1e-7 : 1e-11) * expected / total_steps(phases), 1e-280);
            auto on = mesh::choose(side, std::move(weight), phases, coarseness * accuracy_ * scale, tail);
            on.width = width = std::min(on.width, width);
            const composition made(phases, on, lambda, {epsilon, expected, pass > 0 ? 0 : unsure});
            const double found = made.delta(epsilon), change = std::abs(best - found), slope = made.slope(epsilon);
            best = std::min(best, found);
            if (pass > 0 && change <= 1.5 * first_coarseness * accuracy_ * std::min(slope * scale, 10 * best)) break;
            if (slope <= 0 || best <= std::numeric_limits<double>::min()) break;
            expected = best;
            scale = std::clamp(epsilon, best / slope, 10 * best / slope);
            weight = made.at(epsilon, lambda);
            coarseness = 1;
        }
        return best;
    }

    static constexpr double smallest = 1e-9;  // ε to which accuracy is relative at least
    static constexpr double first_coarseness = 8;
    static constexpr double unsure = 10;  // how far the first guess may be off, log
    static constexpr int most_passes = 8;
    double accuracy_;
};

}  // namespace

std::unique_ptr<accountant> make_pld(double accuracy) {
    return std::make_unique<pld>(accuracy);
}

std::vector<privacy_point> pld_curve(std::span<const phase> phases, std::span<const double> epsilons, double accuracy) {
    const pld with(accuracy);
    std::vector<privacy_point> points;
    for (const double epsilon : epsilons) points.push_back({epsilon, with.delta(phases, epsilon)});
    return points;
}

std::vector<privacy_point> privacy_profile(std::span<const phase> phases, double accuracy) {
    constexpr int count = 512;
    constexpr double least = 1e-5;
    const pld with(accuracy);
    const auto checked = checked_phases(phases);
    if (checked.empty()) return {{0, 0}};
    std::vector<std::vector<composition>> sides;
    double highest = 0;
    for (const direction side : {direction::remove, direction::add}) {
        auto& all = sides.emplace_back();
        for (const double delta : {0.3, 0.03, 1e-3, least}) all.push_back(with.compose_near(side, checked, delta));
        // One without a finite ε at that δ is told by the δ that it has everywhere.
        const double last = all.back().epsilon(least);
        highest = std::max(highest, std::isfinite(last) ? last : 1);
    }
    std::vector<double> epsilons;
    for (int i = 0; i <= count; ++i) epsilons.push_back(highest * i / count);
    std::vector<privacy_point> out;
    for (const double epsilon : epsilons) out.push_back({epsilon, 0});
    for (const auto& all : sides) {
        std::vector<double> best(out.size(), 1);
        for (const auto& one : all) {
            const auto deltas = one.deltas(epsilons);
            for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], deltas[i]);
        }
        for (std::size_t i = 0; i < best.size(); ++i) out[i].delta = std::max(out[i].delta, best[i]);
    }
    return out;
}

}  // namespace rldp::privacy
