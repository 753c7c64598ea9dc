#include "privacy/accounting/banded_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "base/error.hpp"

namespace rldp::privacy {

namespace {

using numbers = std::vector<double>;

double dot(const numbers& a, const numbers& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// x with Σ_k c_k·x_{j−k} = right_j for all j: C⁻¹ applied by forward substitution.
numbers substitute(const band_coefficients& c, numbers right) {
    for (std::size_t j = 0; j < right.size(); ++j) {
        double sum = right[j];
        for (std::size_t k = 1; k < std::min(c.size(), j + 1); ++k) sum -= c[k] * right[j - k];
        right[j] = sum / c[0];
    }
    return right;
}

/// The first column of A·C⁻¹, a Toeplitz matrix, too.
numbers prefix_column(const band_coefficients& c, std::int64_t steps) {
    return substitute(c, numbers(static_cast<std::size_t>(steps), 1));
}

/// Column entry j stands in so many of the prefix sums, of which a mean is taken.
double share_of_prefixes(std::size_t j, std::size_t steps) {
    return static_cast<double>(steps - j) / static_cast<double>(steps);
}

void require_bands(std::int64_t bands, std::int64_t steps) {
    require(bands >= 1 && steps >= bands, "banded matrix: from one band to as many as steps");
}

band_coefficients with_unit_norm(band_coefficients c) {
    const double norm = std::sqrt(dot(c, c));
    for (double& one : c) one /= norm;
    return c;
}

/// log of ‖c‖² times the mean squared error, which no factor of c changes, as a function of c_1, …, c_{b−1}; c_0 is 1.
class error_of_shape {
  public:
    explicit error_of_shape(std::int64_t steps) : steps_(steps) {}

    double value(const numbers& shape) { return evaluate(shape, nullptr); }
    double value(const numbers& shape, numbers& gradient) { return evaluate(shape, &gradient); }

  private:
    double evaluate(const numbers& shape, numbers* gradient) const {
        numbers c(1, 1.0);
        c.insert(c.end(), shape.begin(), shape.end());
        const auto w = prefix_column(c, steps_);
        const std::size_t n = w.size();
        double mean = 0;
        for (std::size_t j = 0; j < n; ++j) mean += share_of_prefixes(j, n) * w[j] * w[j];
        const double squares = dot(c, c);
        if (gradient) {
            // C·w = 1, so C·dw = −dC·w; with Cᵀλ = ∂mean/∂w the derivative by c_k is −Σ_j λ_j·w_{j−k}.
            numbers lambda(n);
            for (std::size_t j = 0; j < n; ++j) lambda[n - 1 - j] = 2 * share_of_prefixes(j, n) * w[j];
            lambda = substitute(c, std::move(lambda));  // backwards: the last row of Cᵀ first
            gradient->assign(shape.size(), 0);
            for (std::size_t k = 1; k < c.size(); ++k) {
                double sum = 0;
                for (std::size_t j = k; j < n; ++j) sum += lambda[n - 1 - j] * w[j - k];
                (*gradient)[k - 1] = 2 * c[k] / squares - sum / mean;
            }
        }
        return std::log(squares * mean);
    }

    std::int64_t steps_;
};

/// One step of a descent, and how much the gradient changed over it.
struct curvature_pair {
    numbers step, change;
    double product;  ///< of both, positive
};

/// −H·gradient, H the inverse Hessian as the last steps show it (Nocedal and Wright 2006, algorithm 7.4).
numbers choose_direction(const std::deque<curvature_pair>& seen, const numbers& gradient) {
    numbers out = gradient, weights(seen.size());
    const auto add = [&](double factor, const numbers& other) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += factor * other[i];
    };
    for (std::size_t i = seen.size(); i-- > 0;) {
        weights[i] = dot(seen[i].step, out) / seen[i].product;
        add(-weights[i], seen[i].change);
    }
    const double scale = seen.empty() ? 1 / std::max(1.0, std::sqrt(dot(gradient, gradient)))
                                      : seen.back().product / dot(seen.back().change, seen.back().change);
    for (double& one : out) one *= scale;
    for (std::size_t i = 0; i < seen.size(); ++i)
        add(weights[i] - dot(seen[i].change, out) / seen[i].product, seen[i].step);
    for (double& one : out) one = -one;
    return out;
}

}  // namespace

band_coefficients make_square_root_bands(std::int64_t bands) {
    require(bands >= 1, "banded matrix: at least one band");
    band_coefficients c{1};
    for (std::int64_t j = 1; j < bands; ++j)
        c.push_back(c.back() * static_cast<double>(2 * j - 1) / static_cast<double>(2 * j));
    return with_unit_norm(std::move(c));
}

band_coefficients find_best_bands(std::int64_t bands, std::int64_t steps) {
    require_bands(bands, steps);
    const auto root = make_square_root_bands(bands);
    if (bands == 1) return root;
    numbers at;
    for (std::size_t k = 1; k < root.size(); ++k) at.push_back(root[k] / root[0]);
    error_of_shape error(steps);
    numbers slope;
    double value = error.value(at, slope);
    std::deque<curvature_pair> seen;
    constexpr int most_steps = 500;
    constexpr std::size_t remembered = 30;
    constexpr double least_gain = 1e-10;  // of the error, relative
    for (int i = 0; i < most_steps; ++i) {
        const auto direction = choose_direction(seen, slope);
        const double descent = dot(direction, slope);
        double length = 1, there = value;
        numbers next, slope_there;
        for (;; length /= 2) {  // until enough is won of what the slope promises (Armijo 1966)
            next = at;
            for (std::size_t k = 0; k < next.size(); ++k) next[k] += length * direction[k];
            there = error.value(next);
            if (there <= value + 1e-4 * length * descent || length < 1e-12) break;
        }
        if (!(there < value)) break;
        const double gain = value - there;
        value = error.value(next, slope_there);
        curvature_pair pair{next, slope_there, 0};
        for (std::size_t k = 0; k < next.size(); ++k) {
            pair.step[k] -= at[k];
            pair.change[k] -= slope[k];
        }
        pair.product = dot(pair.step, pair.change);
        if (pair.product > 1e-12 * dot(pair.change, pair.change)) seen.push_back(std::move(pair));
        if (seen.size() > remembered) seen.pop_front();
        at = std::move(next);
        slope = std::move(slope_there);
        if (gain < least_gain) break;
    }
    at.insert(at.begin(), 1);
    return with_unit_norm(std::move(at));
}

band_coefficients make_bands(std::int64_t bands, std::int64_t steps) {
    require_bands(bands, steps);
    constexpr double worth_it = 0.97;
    constexpr std::int64_t most_work = 20'000'000;  // of which a search takes some hundred times as many operations
    auto root = make_square_root_bands(bands);
    if (bands * steps > most_work) return root;
    auto best = find_best_bands(bands, steps);
    const auto error = [&](const band_coefficients& of) { return compute_prefix_error(of, steps).mean_squared; };
    return error(best) <= worth_it * error(root) ? best : root;
}

prefix_error compute_prefix_error(const band_coefficients& bands, std::int64_t steps) {
    require_bands(std::ssize(bands), steps);
    const auto w = prefix_column(bands, steps);
    prefix_error out{0, 0};
    for (std::size_t j = 0; j < w.size(); ++j) {
        out.mean_squared += share_of_prefixes(j, w.size()) * w[j] * w[j];
        out.last_squared += w[j] * w[j];
    }
    return out;
}

double compute_step_variance(const band_coefficients& bands, std::int64_t steps) {
    require_bands(std::ssize(bands), steps);
    numbers first_column(static_cast<std::size_t>(steps), 0);
    first_column[0] = 1;
    first_column = substitute(bands, std::move(first_column));
    return dot(first_column, first_column);
}

}  // namespace rldp::privacy
