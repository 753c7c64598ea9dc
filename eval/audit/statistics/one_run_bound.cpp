#include "eval/audit/statistics/one_run_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "eval/audit/statistics/finite.hpp"

namespace rldp::eval {
namespace {

void check(const one_run_audit& seen) {
    if (seen.canaries < 1 || seen.correct < 0 || seen.correct > seen.guesses || seen.guesses > seen.canaries)
        refuse(fmt::format("{} correct of {} guesses on {} canaries is no audit", seen.correct, seen.guesses,
                           seen.canaries));
}

void check_delta(double delta) {
    if (!(delta >= 0 && delta < 1)) refuse(fmt::format("delta is {}, not in [0, 1)", delta));
}

void check_level(double beta) {
    if (!(beta > 0 && beta < 0.5)) refuse(fmt::format("beta is {}, not between 0 and 0.5", beta));
}

/// The end of the interval from 0 on which `rejects` holds, to 1e-9 and where it still does; 0 where it is empty.
template <class Rejects>
double largest_rejected(Rejects rejects) {
    const auto side = [&](double x) { return rejects(x) ? -1.0 : 1.0; };
    if (side(0) > 0) return 0;
    double rejected = 0, not_rejected = 1;
    while (side(not_rejected) < 0) {
        rejected = not_rejected;
        not_rejected *= 2;
    }
    const auto close = [](double low, double high) { return high - low < 1e-9; };
    return boost::math::tools::bisect(side, rejected, not_rejected, close).first;
}

/// The p-value of one audit at many ε.
class p_value {
  public:
    p_value(const one_run_audit& seen, double delta) : seen_(seen), delta_(delta) {
        for (std::int64_t k = 0; delta > 0 && k < seen.correct; ++k)  // only the second term needs them
            log_choose_.push_back(std::lgamma(guesses() + 1) - std::lgamma(static_cast<double>(k) + 1) -
                                  std::lgamma(guesses() - static_cast<double>(k) + 1));
    }

    double operator()(double epsilon) const {
        if (seen_.correct == 0) return 1;
        const boost::math::binomial by_chance(guesses(), 1 / (1 + std::exp(-epsilon)));
        const double tail = cdf(complement(by_chance, static_cast<double>(seen_.correct - 1)));
        return std::min(1.0, tail + 2 * static_cast<double>(seen_.canaries) * delta_ * worst_shift(epsilon));
    }

  private:
    double guesses() const { return static_cast<double>(seen_.guesses); }

    /// max over 1 ≤ i ≤ v of P[v > W ≥ v − i]/i.
    double worst_shift(double epsilon) const {
        const double log_none_wrong = -guesses() * std::log1p(std::exp(-epsilon));
        double sum = 0, most = 0;
        for (auto k = static_cast<std::int64_t>(log_choose_.size()); k-- > 0;) {
            const double wrong = guesses() - static_cast<double>(k);
            sum += std::exp(log_choose_[static_cast<std::size_t>(k)] - wrong * epsilon + log_none_wrong);
            most = std::max(most, sum / static_cast<double>(seen_.correct - k));
        }
        return most;
    }

    one_run_audit seen_;
    double delta_;
    std::vector<double> log_choose_;  // of 0 to v − 1 right guesses
};

/// The inverse of μ-GDP's blow-up function, Φ(Φ⁻¹(x) − μ): what is left of an event's probability x, at least, where
/// one canary's coin falls the other way.
double shrink_probability(double x, double mu) {
    if (x <= 0 || x >= 1) return x;
    const boost::math::normal standard;
    return cdf(standard, quantile(standard, x) - mu);
}

/// The recursion of arXiv 2410.22235 (audit_rh_with_cap): expected shares of right and wrong guesses among all coins,
/// as small as μ-GDP allows where so many are right with probability β. They can't be more than the guesses.
bool rejects_gaussian(const one_run_audit& seen, double mu, double beta) {
    const auto canaries = static_cast<double>(seen.canaries), guesses = static_cast<double>(seen.guesses);
    double right = beta * static_cast<double>(seen.correct) / canaries;
    double wrong = beta * static_cast<double>(seen.guesses - seen.correct) / canaries;
    for (auto i = static_cast<double>(seen.correct - 1); i >= 0; --i) {
        const double next = std::max(wrong, shrink_probability(right, mu));
        if (next == wrong) break;  // nothing changes from here on
        right = std::min(1.0, right + i / (guesses - i) * (next - wrong));
        wrong = next;
    }
    return right + wrong > guesses / canaries;
}

}  // namespace

double one_run_p_value(const one_run_audit& seen, double epsilon, double delta) {
    check(seen);
    check_delta(delta);
    if (!(epsilon >= 0 && std::isfinite(epsilon)))
        refuse(fmt::format("epsilon is {}, no finite number from 0", epsilon));
    return p_value(seen, delta)(epsilon);
}

// {ε : p(ε) < β} is an interval from 0 for β < ½. Write p as the maximum over i of P_v + c·(P_{v−i} − P_v) with
// P_k = P[W ≥ k] and c = 2mδ/i. For c ≤ 1 that rises with ε. For c > 1 it is at least P_{v−i}, and its slope is
// negative only if the pmf of Bin(r − 1, q) is smaller at v − i − 1 than at v − 1, so v − i is at most the median of W,
// and P_{v−i} is at least ½.
double epsilon_lower_bound(const one_run_audit& seen, double delta, double beta) {
    check(seen);
    check_delta(delta);
    check_level(beta);
    const p_value p(seen, delta);
    return largest_rejected([&](double epsilon) { return p(epsilon) < beta; });
}

// shrink_probability() falls as μ rises, and with it both shares.
double mu_lower_bound(const one_run_audit& seen, double beta) {
    check(seen);
    check_level(beta);
    return largest_rejected([&](double mu) { return rejects_gaussian(seen, mu, beta); });
}

one_run_audit guess_by_score(const std::vector<double>& scores, const std::vector<bool>& included,
                             std::int64_t guesses) {
    const auto canaries = static_cast<std::int64_t>(scores.size());
    if (scores.size() != included.size())
        refuse(fmt::format("there are {} scores for {} canaries", scores.size(), included.size()));
    if (guesses < 0 || guesses > canaries || guesses % 2 != 0)
        refuse(fmt::format("{} guesses are not an even number from 0 to {} canaries", guesses, canaries));
    check_finite("canary score", scores);
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] < scores[b]; });
    const auto half = guesses / 2;
    const auto in = [&](std::size_t canary) { return included[canary]; };
    const auto right = (half - std::count_if(order.begin(), order.begin() + half, in)) +
                       std::count_if(order.end() - half, order.end(), in);
    return {canaries, guesses, right};
}

}  // namespace rldp::eval
