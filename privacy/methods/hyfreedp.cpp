// HyFreeDP (Liu and Bu 2025): every gradient is normalised, and the learning rate follows a parabola through noised
// losses. research/methods.md says where this differs from the paper.
#include <ATen/ATen.h>
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "privacy/mechanism/noise.hpp"
#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

constexpr std::int64_t interval = 10;  // steps from one look at the losses to the next; the paper's K is 5 to 10

/// At the adapter, where the last step began, and as far again behind that.
const std::vector<double> points = {0, -1, -2};

class hyfreedp final : public method {
  public:
    explicit hyfreedp(const method_config& config)
        : config_(config), radii_(config.groups, config.initial_radius), range_(2 * config.initial_loss) {}

    step_terms next_terms(double noise_multiplier) const override {
        step_terms out;
        out.rule = clip_rule::normalise;
        out.stabiliser = config_.stabiliser;
        out.radii = radii_;
        if (!looks()) return out;
        out.probes = points;
        out.measured = measure_losses(range_, points.size());
        out.measurement_multiplier = measurement_multiplier(noise_multiplier, config_.statistics_share);
        return out;
    }
    at::Tensor absorb(const release& value) override {
        if (looks()) look_at(value.statistics);
        ++steps_;
        return value.gradient / config_.expected_batch;
    }
    double rate_factor() const override { return factor_; }
    bool probes() const override { return true; }
    std::vector<double> radii() const override { return radii_; }
    method_state save() const override {
        const nlohmann::json numbers = {
            {"method", config_.name}, {"steps", steps_}, {"factor", factor_}, {"range", range_}};
        return {numbers.dump(), {}};
    }
    void load(const method_state& from) override {
        const auto numbers = read_numbers(from, config_.name);
        const double factor = positive_number(numbers, "factor"), range = positive_number(numbers, "range");
        steps_ = steps_in(numbers);
        factor_ = factor;
        range_ = range;
    }

  private:
    /// Not while the rate is still rising: the factor would make up for that.
    bool looks() const { return steps_ > config_.warmup && steps_ % interval == 0; }

    /// The parabola through the three losses has its least slope/curvature of the last step's lengths from where that
    /// step began: by so much it was too short or too long.
    void look_at(const std::vector<double>& sums) {
        const auto mean = [&](std::size_t k) { return range_ * (0.5 + sums.at(k) / config_.expected_batch); };
        const double here = mean(0), began = mean(1), before = mean(2);
        const double slope = (before - here) / 2, curvature = before - 2 * began + here;
        if (slope > 0 && curvature > 0)
            factor_ = std::clamp(factor_ * std::clamp(slope / curvature, 0.5, 2.0), 1e-3, 1e3);
        range_ = std::clamp(2 * here, range_ / 2, range_ * 2);
    }

    method_config config_;
    std::vector<double> radii_;
    std::int64_t steps_ = 0;
    double factor_ = 1;
    double range_;  ///< beyond which a loss is clipped, nats
};

}  // namespace

std::unique_ptr<method> make_hyfreedp(const method_config& config) {
    require_positive(config.initial_loss, "the initial loss");
    require(config.statistics_share > 0 && config.statistics_share < 1,
            "noise.statistics_share of hyfreedp lies outside (0, 1)");
    return std::make_unique<hyfreedp>(config);
}

}  // namespace rldp::privacy
