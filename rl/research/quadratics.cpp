#include "rl/research/families.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "rl/prepared/splitmix.hpp"
#include "run/train/adapter_features.hpp"
#include "run/train/rate_schedule.hpp"

namespace rldp::rl {
namespace {

constexpr double beta1 = 0.9, beta2 = 0.999, adam_epsilon = 1e-8;
constexpr double least_excess = 1e-300;  // whose logarithm is finite

void check(const quadratics& task) {
    const auto numbers = std::accumulate(task.sizes.begin(), task.sizes.end(), std::size_t{0});
    require(task.radii.size() == task.sizes.size() && task.weight_norms.size() == task.sizes.size() && numbers > 0,
            "quadratics: one size, radius and weight norm per adapter");
    require(task.curvatures.size() == numbers && task.start.size() == numbers && task.public_optima.size() == numbers,
            "quadratics: one curvature, start and public optimum per number");
    require(task.interval >= 1 && task.steps > task.interval && task.steps % task.interval == 0,
            "quadratics: the steps are blocks, more than one");
    require_positive(task.batch, "quadratics: the batch");
    require_positive(task.rate, "quadratics: the rate");
    require_positive(task.public_floor, "quadratics: the least public loss");
}

struct adapter_state {
    std::size_t begin, end;  // its numbers among D
    double share = 0;        // w²
    double weight = 0;       // Σσ²h: the part of E|g|² that the units' noise makes
    adapter_features features = {};
};

class quadratic_episode final : public episode {
  public:
    quadratic_episode(const quadratics& about, const schedule& fixed, std::uint64_t seed)
        : task_(about),
          rates_(make_rate_schedule(fixed, about.rate, about.steps)),
          reach_(std::max(1.0, std::round(fixed.tail * static_cast<double>(about.steps)))),
          random_(seed),
          theta_(about.start),
          mean_(about.start.size()),
          first_(mean_),
          second_(mean_),
          sum_(mean_),
          last_sum_(mean_),
          moved_(mean_),
          last_moved_(mean_) {
        require(fixed.tail > 0 && fixed.tail <= 1, "quadratics: the mean is over a share of the steps");
        require(std::abs(fixed.tilt) <= 1, "quadratics: no rate is negative");
        std::size_t begin = 0;
        for (const std::size_t size : task_.sizes) {
            adapters_.push_back({.begin = begin, .end = begin + size});
            for (; begin < adapters_.back().end; ++begin)
                adapters_.back().weight += task_.unit_noise * task_.curvatures[begin];
        }
        probe_ = log_public_loss();
        play(neutral(adapters_.size()));
    }

    bool finished() const override { return step_ == task_.steps; }

    policy_observation look() const override {
        const auto numbers = static_cast<double>(theta_.size());
        policy_observation out;
        out.global = {static_cast<double>(step_) / static_cast<double>(task_.steps),
                      std::log(std::max(task_.noise_multiplier, 1e-9) * std::sqrt(numbers) / task_.batch),
                      std::log(task_.epochs),
                      probe_,
                      slope_,
                      last_.rate};
        for (std::size_t i = 0; i < adapters_.size(); ++i) {
            const auto& one = adapters_[i];
            out.adapters.push_back({one.features.signal, one.features.cosine, one.features.along,
                                    std::log(one.features.update), last_.rates[i], last_.shares[i]});
        }
        return out;
    }

    void play(const policy_action& chosen) override {
        require(!finished(), "quadratics: the episode is over");
        check_action(chosen, adapters_.size());
        last_ = chosen;
        const auto shares = compute_shares(chosen);
        for (std::size_t i = 0; i < adapters_.size(); ++i) adapters_[i].share = shares[i];
        std::swap(sum_, last_sum_);
        std::swap(moved_, last_moved_);
        std::fill(sum_.begin(), sum_.end(), 0.0);
        moved_ = theta_;
        for (std::int64_t i = 0; i < task_.interval; ++i) step();
        for (std::size_t k = 0; k < theta_.size(); ++k) moved_[k] = theta_[k] - moved_[k];
        for (std::size_t i = 0; i < adapters_.size(); ++i) observe(adapters_[i], task_.weight_norms[i]);
        const double last_probe = probe_;
        probe_ = log_public_loss();
        slope_ = probe_ - last_probe;
    }

    double log_excess() const override {
        const auto& kept = averaged_ > 0 ? mean_ : theta_;
        double out = 0;
        for (std::size_t k = 0; k < kept.size(); ++k) out += 0.5 * task_.curvatures[k] * kept[k] * kept[k];
        return std::log(std::max(out, least_excess));
    }

  private:
    void step() {
        ++step_;
        const double rate = rates_.rate(step_) * std::exp(last_.rate);
        for (std::size_t i = 0; i < adapters_.size(); ++i)
            advance(adapters_[i], task_.radii[i], rate * std::exp(last_.rates[i]));
        if (static_cast<double>(task_.steps - step_) >= reach_) return;
        averaged_ += 1;
        for (std::size_t k = 0; k < theta_.size(); ++k) mean_[k] += (theta_[k] - mean_[k]) / averaged_;
    }

    // One noisy clipped sum, divided by B·C, and the optimiser's step with it.
    void advance(const adapter_state& one, double radius, double rate) {
        double squares = one.weight;  // E|g|²
        for (std::size_t k = one.begin; k < one.end; ++k) squares += std::pow(task_.curvatures[k] * theta_[k], 2);
        const double scale = squares > radius * radius ? 1 / std::sqrt(squares) : 1 / radius;  // of g, in radii
        const double units = scale * scale * task_.unit_noise / task_.batch;
        const double added = compute_variance(one);
        const double correction1 = 1 - std::pow(beta1, static_cast<double>(step_));
        const double correction2 = 1 - std::pow(beta2, static_cast<double>(step_));
        const double root = 1 / std::sqrt(correction2), stride = rate / correction1;
        for (std::size_t k = one.begin; k < one.end; ++k) {
            const double h = task_.curvatures[k];
            const double g = scale * h * theta_[k] + std::sqrt(units * h + added) * random_.near_normal();
            sum_[k] += g;
            if (task_.how == optimiser::sgd) {
                theta_[k] -= rate * g;
                continue;
            }
            first_[k] = beta1 * first_[k] + (1 - beta1) * g;
            second_[k] = beta2 * second_[k] + (1 - beta2) * g * g;
            theta_[k] -= stride * first_[k] / (std::sqrt(second_[k]) * root + adam_epsilon);
        }
    }

    // s²: of the noise on a number of a release.
    double compute_variance(const adapter_state& one) const {
        return std::pow(task_.noise_multiplier / task_.batch, 2) / one.share;
    }

    void observe(adapter_state& one, double weight_norm) {
        const auto product = [&one](const std::vector<double>& a, const std::vector<double>& b) {
            return std::inner_product(at(a, one.begin), at(a, one.end), at(b, one.begin), 0.0);
        };
        double far = 0;
        for (std::size_t k = one.begin; k < one.end; ++k) far += std::pow(theta_[k] - task_.start[k], 2);
        const double norm = std::sqrt(product(sum_, sum_)), last_norm = std::sqrt(product(last_sum_, last_sum_));
        const auto numbers = static_cast<double>(one.end - one.begin), block = static_cast<double>(task_.interval);
        one.features = {
            .signal = compute_signal(norm * norm, block * numbers * compute_variance(one)),
            .cosine = compute_cosine(product(sum_, last_sum_), norm, last_norm),
            .along = compute_along(product(sum_, last_moved_), norm, std::sqrt(product(last_moved_, last_moved_))),
            .update = compute_update(std::sqrt(product(moved_, moved_)), std::hypot(weight_norm, std::sqrt(far)))};
    }

    static std::vector<double>::const_iterator at(const std::vector<double>& values, std::size_t k) {
        return values.begin() + static_cast<std::ptrdiff_t>(k);
    }

    double log_public_loss() const {
        if (!task_.probed) return 0;
        double out = task_.public_floor;
        for (std::size_t k = 0; k < theta_.size(); ++k)
            out += 0.5 * task_.curvatures[k] * std::pow(theta_[k] - task_.public_optima[k], 2);
        return std::log(out);
    }

    const quadratics& task_;
    rate_schedule rates_;
    double reach_;  // how many iterates are averaged
    splitmix random_;
    std::vector<adapter_state> adapters_;
    std::vector<double> theta_, mean_, first_, second_;  // mean_: of the iterates that are kept
    std::vector<double> sum_, last_sum_;                 // of releases in this block and the last
    std::vector<double> moved_, last_moved_;             // how they moved θ
    double averaged_ = 0, probe_ = 0, slope_ = 0;
    std::int64_t step_ = 0;
    policy_action last_;
};

}  // namespace

std::unique_ptr<episode> quadratics::begin(const schedule& fixed, std::uint64_t seed) const {
    check(*this);
    return std::make_unique<quadratic_episode>(*this, fixed, seed);
}

}  // namespace rldp::rl
