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
    require(task.curvatures.size() == numbers && task.start.size() == numbers,
            "quadratics: one curvature and start per number");
    require(task.interval >= 1 && task.steps > task.interval && task.steps % task.interval == 0,
            "quadratics: the steps are blocks, more than one");
    require_positive(task.batch, "quadratics: the batch");
    require_positive(task.rate, "quadratics: the rate");
}

struct adapter_state {
    std::size_t begin, end;  // its numbers among D
    double weight = 0;       // Σσ²h: the part of E|g|² that the units' noise makes
    adapter_features features = {};
};

class quadratic_episode final : public episode {
  public:
    quadratic_episode(const quadratics& about, const rate_line& line, std::uint64_t seed)
        : task_(about),
          plan_(about.plan()),
          rates_(make_rate_schedule(line, about.rate, about.steps)),
          reach_(std::max(1.0, std::round(line.tail * static_cast<double>(about.steps)))),
          deviation_(about.noise_multiplier / about.batch * std::sqrt(static_cast<double>(about.sizes.size()))),
          random_(seed),
          theta_(about.start),
          mean_(about.start.size()),
          first_(mean_),
          second_(mean_),
          sum_(mean_),
          last_sum_(mean_),
          moved_(mean_),
          last_moved_(mean_) {
        require(line.tail > 0 && line.tail <= 1, "quadratics: the mean is over a share of the steps");
        require(std::abs(line.tilt) <= 1, "quadratics: no rate is negative");
        std::size_t begin = 0;
        for (const std::size_t size : task_.sizes) {
            adapters_.push_back({.begin = begin, .end = begin + size});
            for (; begin < adapters_.back().end; ++begin)
                adapters_.back().weight += task_.unit_noise * task_.curvatures[begin];
        }
        play(neutral(adapters_.size()));
    }

    bool finished() const override { return step_ == task_.steps; }

    policy_observation look() const override {
        policy_observation out;
        out.global = {static_cast<double>(step_) / static_cast<double>(task_.steps),
                      plan_.noise,
                      std::log(task_.epochs),
                      score_.value_or(0),
                      count_feature(scores_),
                      last_.rate};
        out.scored = score_.has_value();
        for (std::size_t i = 0; i < adapters_.size(); ++i) {
            const auto& one = adapters_[i].features;
            out.adapters.push_back({one.signal, one.cosine, one.along, std::log(one.update), last_.rates[i]});
        }
        return out;
    }

    void play(const policy_action& chosen) override {
        require(!finished(), "quadratics: the episode is over");
        check_action(chosen, adapters_.size());
        last_ = chosen;
        std::swap(sum_, last_sum_);
        std::swap(moved_, last_moved_);
        std::fill(sum_.begin(), sum_.end(), 0.0);
        moved_ = theta_;
        for (std::int64_t i = 0; i < task_.interval; ++i) step();
        for (std::size_t k = 0; k < theta_.size(); ++k) moved_[k] = theta_[k] - moved_[k];
        slope_score score;
        for (std::size_t i = 0; i < adapters_.size(); ++i) observe(adapters_[i], task_.weight_norms[i], score);
        score_ = score.value();
        if (score_) ++scores_;
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
        const double added = deviation_ * deviation_;
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

    void observe(adapter_state& one, double weight_norm, slope_score& score) const {
        const auto product = [&one](const std::vector<double>& a, const std::vector<double>& b) {
            return std::inner_product(at(a, one.begin), at(a, one.end), at(b, one.begin), 0.0);
        };
        double far = 0;
        for (std::size_t k = one.begin; k < one.end; ++k) far += std::pow(theta_[k] - task_.start[k], 2);
        const double norm = std::sqrt(product(sum_, sum_)), last_norm = std::sqrt(product(last_sum_, last_sum_));
        const auto numbers = static_cast<double>(one.end - one.begin), block = static_cast<double>(task_.interval);
        const double across = product(sum_, last_moved_), path = product(last_moved_, last_moved_);
        if (deviation_ > 0) score.add(across / deviation_, deviation_, path, block);
        one.features = {
            .signal = compute_signal(norm * norm, block * numbers * deviation_ * deviation_),
            .cosine = compute_cosine(product(sum_, last_sum_), norm, last_norm),
            .along = compute_along(across, norm, std::sqrt(path)),
            .update = compute_update(std::sqrt(product(moved_, moved_)), std::hypot(weight_norm, std::sqrt(far)))};
    }

    static std::vector<double>::const_iterator at(const std::vector<double>& values, std::size_t k) {
        return values.begin() + static_cast<std::ptrdiff_t>(k);
    }

    const quadratics& task_;
    known_plan plan_;
    rate_schedule rates_;
    double reach_;      // how many iterates are averaged
    double deviation_;  // of the noise on a number of a release, in radii
    splitmix random_;
    std::vector<adapter_state> adapters_;
    std::vector<double> theta_, mean_, first_, second_;  // mean_: of the iterates that are kept
    std::vector<double> sum_, last_sum_;                 // of releases in this block and the last
    std::vector<double> moved_, last_moved_;             // how they moved θ
    double averaged_ = 0;
    std::int64_t step_ = 0, scores_ = 0;
    std::optional<double> score_;
    policy_action last_;
};

}  // namespace

std::unique_ptr<episode> quadratics::begin(const rate_line& line, std::uint64_t seed) const {
    check(*this);
    return std::make_unique<quadratic_episode>(*this, line, seed);
}

known_plan quadratics::plan() const {
    return {steps, compute_noise_level(noise_multiplier, static_cast<double>(curvatures.size()), batch), sizes.size(),
            1};
}

}  // namespace rldp::rl
