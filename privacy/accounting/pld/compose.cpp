// Composition by Fourier transform of the tilted (Esscher) distribution p̃(l) = p(l)·e^{λl}/M(λ). Tilting commutes with
// convolution:
//     δ(ε) = Σ_{l>ε} p(l)(1 − e^{ε−l}) = M^T·Σ_{l>ε} p̃_T(l)·e^{-λl}(1 − e^{ε−l}),
// and it brings the losses near ε to the centre, so that errors are small relative to δ, however small δ is. Each error
// is bounded and added: mass at infinity, mass outside the window (window.cpp), rounding of the transforms
// (spectrum.cpp), and rounding of the step's masses and of the sums here, which is relative, hence a factor
// e^{steps·τ + points·6u}.
#include "privacy/accounting/pld/compose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "privacy/accounting/pld/spectrum.hpp"

namespace rldp::privacy {
namespace {

constexpr double mass_rounding = 1e-11;     // τ: cancellation within narrow cells
constexpr double point_rounding = 6.7e-16;  // 6u: two products, two sums and e^{-h} at each loss that suffix passes
constexpr double most_points = 1 << 22;     // of a window; a mesh that needs more is widened, and stays a bound

/// Euclidean norm of e^{-λt}(1 − e^{-t}) over t = 0, h, 2h, … (`points` of them): the sum times h is the integral plus
/// h times the largest value at most.
double weight_norm(double lambda, double width, double points) {
    const double integral = 1 / (2 * lambda * (2 * lambda + 1) * (lambda + 1)),
                 largest = std::exp(2 * log_conversion(lambda));
    return std::sqrt(std::min(points * largest, integral / width + largest));
}

std::vector<run_atoms> make_atoms(std::span<const phase> phases, const mesh& on) {
    std::vector<run_atoms> list;
    for (const phase& r : phases) list.emplace_back(static_cast<double>(r.steps), discretise(r, on));
    return list;
}

/// Of the composition: 1 − Π (1 − a step's).
double infinite_mass(std::span<const run_atoms> list) {
    double log_finite = 0;
    for (const run_atoms& r : list) log_finite += r.steps * std::log1p(-r.atoms.infinite);
    return -std::expm1(log_finite);
}

}  // namespace

composition::composition(std::span<const phase> phases, mesh on, double lambda, const target& at) {
    auto list = make_atoms(phases, on);
    infinite_ = infinite_mass(list);
    if (infinite_ >= 1) return;
    window_ = choose_window(list, on.width, lambda, at);
    for (int attempt = 0; window_.high - window_.low > most_points * on.width; ++attempt) {
        if (attempt == 4 || !std::isfinite(window_.high - window_.low)) {
            infinite_ = 1;
            return;
        }
        on.width = 1.1 * (window_.high - window_.low) / most_points;
        list = make_atoms(phases, on);
        window_ = choose_window(list, on.width, lambda, at);
    }
    width_ = on.width;
    infinite_ = infinite_mass(list);
    double steps = 0;
    for (const run_atoms& r : list) {
        steps += r.steps;
        offset_ += r.steps * r.atoms.offset;
    }
    const double lowest = std::floor((window_.low - offset_) / width_);
    if (!(std::abs(lowest) < 1e18)) {  // beyond 64-bit indices
        infinite_ = 1;
        return;
    }
    first_ = static_cast<std::int64_t>(lowest);
    spectrum composed(real_fft::good_size((window_.high - window_.low) / width_ + 3));
    std::vector<double> mass;
    // Most noise first: its losses are spread most evenly, so that few frequencies are left for the others.
    for (auto r = list.rbegin(); r != list.rend(); ++r) {
        r->tilt(window_.tilt, width_, mass);
        composed.multiply(r->atoms.index, mass, r->steps);
    }
    const auto circle = composed.masses();
    margin_ = std::exp(steps * mass_rounding + static_cast<double>(circle.size()) * point_rounding);
    excess_ = 4 * std::exp(window_.log_outside + log_conversion(window_.tilt)) +
              composed.error() * weight_norm(window_.tilt, width_, static_cast<double>(circle.size()));
    const auto size = static_cast<std::int64_t>(circle.size());
    const auto start = circle.begin() + (first_ % size + size) % size;
    tilted_.assign(start, circle.end());
    tilted_.insert(tilted_.end(), circle.begin(), start);
}

/// Losses outside the window may be missing above it and land inside; rounding errors are weighed by Cauchy and
/// Schwarz, in the worst case.
double composition::correction(double epsilon) const {
    return excess_ * std::exp(window_.log_moment - window_.tilt * epsilon);
}

/// Walks down the window with A = Σ v_i e^{-(l_i − l)} and D = Σ v_i (1 − e^{-(l_i − l)}) over the losses l_i ≥ l,
/// where v is the untilted mass. Sums of positive terms only.
class composition::suffix {
  public:
    explicit suffix(const composition& of)
        : of_(&of),
          next_(static_cast<std::int64_t>(of.tilted_.size())),
          fall_(std::exp(-of.width_)),
          gain_(-std::expm1(-of.width_)),
          untilt_step_(std::exp(of.window_.tilt * of.width_)) {}

    bool done() const { return next_ == 0; }
    std::int64_t next() const { return next_ - 1; }  ///< where step() goes to
    double loss() const { return of_->loss(next_); }
    double finite() const { return finite_; }
    double untilt() const { return untilt_; }  ///< M^T·e^{-λl}
    /// D at ε ≤ loss(), if no other loss lies between.
    double finite_at(double epsilon) const { return finite_ - std::expm1(epsilon - loss()) * discounted_; }
    /// −dD/dε there
    double slope_at(double epsilon) const { return std::exp(epsilon - loss()) * discounted_; }
    void step() {
        --next_;
        untilt_ = next_ % 64 == 63 || untilt_ == 0
                      ? std::exp(of_->window_.log_moment - of_->window_.tilt * of_->loss(next_))
                      : untilt_ * untilt_step_;
        finite_ += gain_ * discounted_;
        discounted_ = fall_ * discounted_ + untilt_ * of_->tilted_[static_cast<std::size_t>(next_)];
    }

  private:
    const composition* of_;
    std::int64_t next_;
    double fall_, gain_, untilt_step_;
    double untilt_ = 0, finite_ = 0, discounted_ = 0;
};

double composition::delta(double epsilon) const {
    if (infinite_ >= 1) return 1;
    suffix above(*this);
    while (!above.done() && loss(above.next()) > epsilon) above.step();
    return std::min(1.0, margin_ * (above.finite_at(epsilon) + correction(epsilon)) + infinite_);
}

double composition::slope(double epsilon) const {
    suffix above(*this);
    while (!above.done() && loss(above.next()) > epsilon) above.step();
    return above.slope_at(epsilon);
}

sensitivity composition::at(double epsilon, double lambda) const {
    std::vector<double> mass(tilted_.size());
    for (std::size_t k = 0; k < mass.size(); ++k) {
        const double log_untilt = window_.log_moment - window_.tilt * loss(static_cast<std::int64_t>(k));
        mass[k] = tilted_[k] * std::exp(std::min(log_untilt, 700.0));
    }
    return {lambda, mass, loss(0), width_, epsilon, slope(epsilon)};
}

double composition::epsilon(double delta) const {
    if (delta <= infinite_) return std::numeric_limits<double>::infinity();
    const double target = (delta - infinite_) / margin_;
    suffix above(*this);
    double low = 0, high = above.loss();
    if (correction(high) > target)  // ε lies above the window, where only the correction counts
        return window_.tilt > 0 ? std::max(0.0, (window_.log_moment + std::log(excess_ / target)) / window_.tilt)
                                : std::numeric_limits<double>::infinity();
    while (!above.done() && loss(above.next()) > 0) {
        suffix lower = above;
        lower.step();
        if (lower.finite() + excess_ * lower.untilt() > target) {
            low = lower.loss();
            break;
        }
        above = lower;
        high = above.loss();
    }
    // Between two losses, or between the lowest and 0.
    const auto meets = [&](double x) { return above.finite_at(x) + correction(x) <= target; };
    if (high <= 0 || meets(low)) return low;
    for (int i = 0; i < 60; ++i) {
        const double middle = low + (high - low) / 2;
        (meets(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace rldp::privacy
