#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "privacy/accounting/pld/discretisation.hpp"
#include "privacy/accounting/rdp.hpp"

namespace rldp::privacy {

sensitivity::sensitivity(double lambda, const std::vector<double>& mass, double lowest, double width, double epsilon,
                         double slope)
    : lambda_(lambda), above_(mass.size() + 1), lowest_(lowest), width_(width), epsilon_(epsilon), slope_(slope) {
    for (std::size_t k = mass.size(); k-- > 0;) above_[k] = above_[k + 1] + mass[k];
}

double sensitivity::composed(double loss, double mean) const {
    if (above_.empty()) return 0;
    const double spread = std::max(0.3 * std::abs(loss), 2 * width_), centre = epsilon_ - loss + mean;
    const auto sum_above = [&](double x) {
        const double k = std::clamp((x - lowest_) / width_, 0.0, static_cast<double>(above_.size() - 1));
        return above_[static_cast<std::size_t>(k)];
    };
    return (sum_above(centre - spread) - sum_above(centre + spread)) / (2 * spread) / slope_;
}

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

// Connect the dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): on given losses the least distribution that
// dominates keeps, cell by cell, the mass of P and of Q. With w = (e^l − (1−q))/q, the Gaussian's likelihood ratio at
// mixture loss l, and F0, F1 the cell's masses under N(0,z²) and N(1,z²), the Q-masses at the ends of [a, b] are
//     at a: (w_b·F0 − F1)/(w_b − w_a),    at b: (F1 − w_a·F0)/(w_b − w_a),
// free of the cancellation of masses that differ by a factor of q. `remove` puts e^l times them at loss l. `add` puts
// them at −l, for there P and Q change places. Any subset of a mesh serves: thin regions get wide cells.

namespace {

constexpr double widest_cell = 0.5, narrowest_cell = 5e-4;  // of y: no mode is stepped over, and cells stay countable

/// Φ(−|y|).
double tail(double y) {
    return std::erfc(std::abs(y) / std::numbers::sqrt2) / 2;
}

/// A loss of the mesh with all that its cells need.
struct knot {
    std::int64_t index;
    double loss, ratio;   ///< l, w; w ≤ 0 below the smallest loss
    double y;             ///< the standardised outcome of this loss
    double tail0, tail1;  ///< Φ(−|y|) and Φ(−|y − 1/z|)
};

double mass_between(double a, double tail_a, double b, double tail_b) {
    if (a >= 0) return tail_a - tail_b;
    return b <= 0 ? tail_b - tail_a : 1 - tail_a - tail_b;
}

/// Φ(−reach) ≤ e^{-reach²/2} = tail.
double normal_reach(double tail_probability) {
    return std::sqrt(-2 * std::log(tail_probability));
}

class discretisation {
  public:
    discretisation(const phase& step, const mesh& on)
        : z_(step.noise_multiplier),
          q_(step.sample_rate),
          on_(on),
          origin_(mixture_loss(gaussian_loss(0, z_), q_)),
          reach_(normal_reach(on.tail)),
          drawn_reach_(normal_reach(std::min(on.tail / q_, 0.5))),
          scale_(12 * on.cell_error / static_cast<double>(step.steps)),
          weight_(on.side, on.weight, step) {}

    loss_atoms atoms() const {
        const bool remove = on_.side == direction::remove;
        loss_atoms out{remove ? origin_ : -origin_, {}, {}, 0};
        const auto last = static_cast<std::int64_t>(std::ceil((loss_at(1 / z_ + drawn_reach_) - origin_) / on_.width));
        knot a = at(static_cast<std::int64_t>(std::floor((loss_at(-reach_) - origin_) / on_.width)));
        double q_mass = below(a, out);
        while (a.index < last) {
            const knot b = at(next(a, last));
            const double f0 = mass_between(a.y, a.tail0, b.y, b.tail0);
            const double f1 = mass_between(a.y - 1 / z_, a.tail1, b.y - 1 / z_, b.tail1);
            const double gap = std::exp(a.loss) * std::expm1(b.loss - a.loss) / q_;
            append(out, a, q_mass + std::max(b.ratio * f0 - f1, 0.0) / gap);
            q_mass = std::max(f1 - a.ratio * f0, 0.0) / gap;
            a = b;
        }
        append(out, a, q_mass + above(a, out));
        return out;
    }

  private:
    double loss_at(double y) const { return mixture_loss(gaussian_loss(y, z_), q_); }

    knot at(std::int64_t index) const {
        knot k{index, origin_ + static_cast<double>(index) * on_.width, 0, 0, 0, 0};
        const double excess = std::expm1(k.loss) / q_;
        k.ratio = 1 + excess;
        k.y = k.ratio > 0 ? z_ * std::log1p(excess) + 1 / (2 * z_) : -std::numeric_limits<double>::infinity();
        k.tail0 = tail(k.y);
        k.tail1 = tail(k.y - 1 / z_);
        return k;
    }

    /// Where the next cell ends. Cells of error e have width w with steps·ρ(l)·p(l)·w³/12 = e.
    std::int64_t next(const knot& a, std::int64_t last) const {
        const double y = std::max(a.y, -reach_);
        double width = std::min(loss_at(y + widest_cell) - a.loss, cell_width(y));
        for (int i = 0; i < 2; ++i) width = std::min(width, cell_width(outcome(a.loss + width)));
        width = std::max(width, loss_at(y + narrowest_cell) - a.loss);
        return std::min(last, a.index + static_cast<std::int64_t>(std::clamp(width / on_.width, 1.0, 1e15)));
    }
    double outcome(double loss) const {
        const double excess = std::expm1(loss) / q_;
        return excess > -1 ? z_ * std::log1p(excess) + 1 / (2 * z_) : -reach_;
    }
    double cell_width(double y) const {
        const double u = gaussian_loss(y, z_), slope = mixture_share(u, q_) / z_;
        return std::cbrt(scale_ * slope / weight_(y, mixture_loss(u, q_)));
    }

    void append(loss_atoms& out, const knot& k, double q_mass) const {
        const bool remove = on_.side == direction::remove;
        if (q_mass <= 0) return;
        out.index.push_back(remove ? k.index : -k.index);
        out.mass.push_back(remove ? q_mass * std::exp(k.loss) : q_mass);
    }

    /// Q-mass that the unbounded cell below the first knot leaves there: it keeps the mass of P. For `add` the rest,
    /// the least likely under P, becomes infinite.
    double below(const knot& first, loss_atoms& out) const {
        if (first.ratio <= 0) return 0;
        const double f0 = first.tail0, f1 = first.tail1, kept = ((1 - q_) * f0 + q_ * f1) * std::exp(-first.loss);
        if (on_.side == direction::add) out.infinite += std::max(f0 - kept, 0.0);
        return kept;
    }
    /// The same above the last knot: all the mass of Q stays, and for `remove` the rest of P becomes infinite.
    double above(const knot& last, loss_atoms& out) const {
        if (on_.side == direction::remove) out.infinite += q_ * std::max(last.tail1 - last.ratio * last.tail0, 0.0);
        return last.tail0;
    }

    double z_, q_;
    const mesh& on_;
    double origin_;
    double reach_,
        drawn_reach_;  ///< of y below 0, and above 1/z where a unit was drawn, which happens with probability q
    double scale_;
    outcome_weight weight_;
};

/// So little noise that its losses are out of range: who sees the outcome knows whether the unit was drawn.
loss_atoms drawn_is_seen(double q, direction side) {
    if (q == 1) return {0, {}, {}, 1};
    if (side == direction::remove) return {std::log1p(-q), {0}, {1 - q}, q};
    return {-std::log1p(-q), {0}, {1}, 0};
}

}  // namespace

loss_atoms discretise(const phase& step, const mesh& on) {
    if (step.noise_multiplier < least_resolved_multiplier) return drawn_is_seen(step.sample_rate, on.side);
    return discretisation(step, on).atoms();
}

}  // namespace rldp::privacy
