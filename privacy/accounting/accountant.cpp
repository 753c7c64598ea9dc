#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/accounting/pld/pld.hpp"
#include "privacy/accounting/rdp.hpp"

namespace rldp::privacy {
namespace {

void check(const phase& r, std::size_t index) {
    if (!std::isfinite(r.noise_multiplier) || r.noise_multiplier <= 0)
        refuse(fmt::format("phase {}: noise_multiplier {} must be positive and finite", index, r.noise_multiplier));
    if (!(r.sample_rate >= 0 && r.sample_rate <= 1))
        refuse(fmt::format("phase {}: sample_rate {} must lie in [0, 1]", index, r.sample_rate));
    if (r.steps < 0) refuse(fmt::format("phase {}: steps {} must not be negative", index, r.steps));
    // Beyond 10^12 steps the rounding of the sums over steps is no longer covered by the accountants' margins.
    if (r.steps > 1'000'000'000'000) refuse(fmt::format("phase {}: {} steps are more than 10^12", index, r.steps));
}

}  // namespace

std::vector<phase> checked_phases(std::span<const phase> phases) {
    std::vector<phase> sorted;
    for (std::size_t i = 0; i < phases.size(); ++i) {
        check(phases[i], i + 1);
        if (phases[i].steps > 0 && phases[i].sample_rate > 0) sorted.push_back(phases[i]);
    }
    const auto key = [](const phase& r) { return std::tuple(r.noise_multiplier, r.sample_rate); };
    std::sort(sorted.begin(), sorted.end(), [&](const phase& a, const phase& b) { return key(a) < key(b); });
    std::vector<phase> merged;
    for (const phase& r : sorted) {
        if (!merged.empty() && key(merged.back()) == key(r)) {
            merged.back().steps += r.steps;
        } else {
            merged.push_back(r);
        }
    }
    return merged;
}

void check_delta(double delta) {
    if (!(delta > 0 && delta < 1)) refuse(fmt::format("delta {} must lie strictly between 0 and 1", delta));
}

void check_epsilon(double epsilon) {
    if (!(std::isfinite(epsilon) && epsilon >= 0))
        refuse(fmt::format("epsilon {} must be finite and not negative", epsilon));
}

std::unique_ptr<accountant> make_accountant(std::string_view name) {
    switch (parse_named<accountant_kind>(name)) {
        case accountant_kind::pld:
            return make_pld();
        case accountant_kind::rdp:
            return make_rdp();
        case accountant_kind::gdp_clt:
            return make_gdp_clt();
    }
    bug("an accountant that nothing makes");
}

namespace {

constexpr double least_multiplier = 0.05, most_multiplier = 10'000;  // of the shape's smallest and largest noise
constexpr double level_tolerance = 5e-7;                             // of log z_0

/// log(ε/target) as a function of log z_0, decreasing; the smallest value tried that meets the target is kept.
class search {
  public:
    search(const accountant& with, std::span<const phase> shape, double target, double delta)
        : with_(with), shape_(shape.begin(), shape.end()), target_(target), delta_(delta) {}

    double excess(double log_scale) {
        std::vector<phase> phases = shape_;
        for (phase& r : phases) r.noise_multiplier *= std::exp(log_scale);
        last_ = {std::exp(log_scale), with_.epsilon(phases, delta_)};
        return std::clamp(std::log(last_.epsilon / target_), -30.0, 30.0);
    }
    const calibration& last() const { return last_; }

  private:
    const accountant& with_;
    std::vector<phase> shape_;
    double target_, delta_;
    calibration last_{};
};

struct bracket {
    double low, high;  ///< log z_0 that misses and that meets the target
    double low_excess, high_excess;
    calibration best;  ///< at high
};

/// Steps of the size that a slope of −1 suggests, until both sides are there. False if the range ends before.
bool widen(search& f, bracket& found, double low_end, double high_end) {
    double x = std::min(low_end - std::log(least_multiplier), high_end), fx = f.excess(x);
    const bool meets = fx <= 0;
    for (;;) {
        const double end = meets ? low_end : high_end, old = x, old_excess = fx;
        if (meets) found = {found.low, x, found.low_excess, fx, f.last()};
        if (x == end) return false;
        const double move = std::clamp(std::abs(fx), 0.05, 1.5);
        x = meets ? std::max(x - move, end) : std::min(x + move, end);
        fx = f.excess(x);
        if ((fx <= 0) == meets) continue;
        found = meets ? bracket{x, old, fx, old_excess, found.best} : bracket{old, x, old_excess, fx, f.last()};
        return true;
    }
}

/// Regula falsi (Illinois), never closer than half the level_tolerance to either end, so that both ends close in.
void narrow(search& f, bracket& b) {
    int side = 0;
    while (b.high - b.low > level_tolerance) {
        const double width = b.high - b.low, least = std::min(0.45 * level_tolerance, width / 2);
        const double secant = b.low + width * b.low_excess / (b.low_excess - b.high_excess);
        const double x = std::clamp(secant, b.low + least, b.high - least), fx = f.excess(x);
        if (fx <= 0) {
            b.high = x;
            b.high_excess = fx;
            b.best = f.last();
            if (side == 1) b.low_excess /= 2;
            side = 1;
        } else {
            b.low = x;
            b.low_excess = fx;
            if (side == -1) b.high_excess /= 2;
            side = -1;
        }
    }
}

}  // namespace

calibration calibrate(const accountant& with, std::span<const phase> shape, double epsilon, double delta) {
    check_delta(delta);
    if (!(std::isfinite(epsilon) && epsilon > 0))
        refuse(fmt::format("calibrate: epsilon {} must be positive and finite", epsilon));
    const auto checked = checked_phases(shape);
    if (checked.empty())
        refuse("calibrate: the plan has no steps that cost anything; give steps and a sample rate above 0");
    const double low_end = std::log(least_multiplier / checked.front().noise_multiplier);
    const double high_end = std::log(most_multiplier / checked.back().noise_multiplier);
    if (low_end >= high_end)
        refuse(fmt::format("calibrate: noise multipliers from {} to {} are too far apart",
                           checked.front().noise_multiplier, checked.back().noise_multiplier));
    search f(with, checked, epsilon, delta);
    bracket found{};
    if (widen(f, found, low_end, high_end)) {
        narrow(f, found);
    } else if (f.last().epsilon > epsilon) {
        refuse(fmt::format(
            "calibrate: epsilon {} at delta {} is out of reach: the smallest that {} gives is {:.6g}, at noise "
            "multiplier {}; raise epsilon or delta, or lower the sample rate or the number of steps",
            epsilon, delta, with.name(), f.last().epsilon, most_multiplier));
    }
    return found.best;
}

}  // namespace rldp::privacy
