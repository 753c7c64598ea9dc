// Adaptive clipping by a private quantile (Andrew, Thakkar, McMahan, Ramaswamy 2021): the radius moves until a fraction
// p of the units lies within it.
#include <algorithm>
#include <cmath>

#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

constexpr double rate = 0.2;  // η_C, the paper's

class quantile_method final : public method {
  public:
    explicit quantile_method(const method_config& config) : config_(config), radius_(config.initial_radius) {}

    step_terms next_terms(double) const override {
        step_terms out;
        out.radii = {radius_};
        out.measured = measure_below(radius_);
        out.measurement_multiplier = config_.query_noise / out.measured->sensitivity();
        return out;
    }
    at::Tensor absorb(const release& value) override {
        const double fraction = std::clamp(0.5 + value.statistics.at(0) / config_.expected_batch, 0.0, 1.0);
        radius_ =
            std::clamp(radius_ * std::exp(-rate * (fraction - config_.quantile)), config_.clip_min, config_.clip_max);
        return value.gradient / config_.expected_batch;
    }
    std::vector<double> radii() const override { return {radius_}; }
    method_state save() const override {
        return {nlohmann::json{{"method", config_.name}, {"radius", radius_}}.dump(), {}};
    }
    void load(const method_state& from) override {
        radius_ = positive_number(read_numbers(from, config_.name), "radius");
    }

  private:
    method_config config_;
    double radius_;
};

}  // namespace

std::unique_ptr<method> make_quantile(const method_config& config) {
    return std::make_unique<quantile_method>(config);
}

}  // namespace rldp::privacy
