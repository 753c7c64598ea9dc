// With κ(s) = Σ steps·log Σ mass·e^{s·loss}, Chernoff's bound on the composition tilted by λ is, for s > λ,
//     P(L ≥ high) ≤ exp(κ(s) − κ(λ) − (s − λ)·high),
// and the same for L ≤ low and s < λ. A share `outside` of the tilted mass changes δ(ε) by at most
// outside·exp(κ(λ) − λε + log_conversion(λ)). So each pair (λ, s) gives a place to cut; the shortest window wins. A
// large tilt centres the window on ε and makes rounding harmless, a small one keeps heavy upper tails (few draws at
// little noise) short.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "privacy/accounting/pld/composition.hpp"
#include "privacy/accounting/pld/spectrum.hpp"

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

// Composition by Fourier transform of the tilted (Esscher) distribution p̃(l) = p(l)·e^{λl}/M(λ). Tilting commutes with
// convolution:
//     δ(ε) = Σ_{l>ε} p(l)(1 − e^{ε−l}) = M^T·Σ_{l>ε} p̃_T(l)·e^{-λl}(1 − e^{ε−l}),
// and it brings the losses near ε to the centre, so that errors are small relative to δ, however small δ is. Each error
// is bounded and added: mass at infinity, mass outside the window (window.cpp), rounding of the transforms
// (spectrum.cpp), and rounding of the step's masses and of the sums here, which is relative, hence a factor
// e^{steps·τ + points·6u}.

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

std::vector<double> composition::deltas(std::span<const double> ascending) const {
    std::vector<double> out(ascending.size(), 1);
    if (infinite_ >= 1) return out;
    suffix above(*this);
    for (std::size_t i = out.size(); i-- > 0;) {
        const double epsilon = ascending[i];
        while (!above.done() && loss(above.next()) > epsilon) above.step();
        out[i] = std::min(1.0, margin_ * (above.finite_at(epsilon) + correction(epsilon)) + infinite_);
    }
    return out;
}

double composition::delta(double epsilon) const {
    return deltas({&epsilon, 1}).front();
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
