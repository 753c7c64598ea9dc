// DC-SGD (Wei et al. 2025, arXiv 2503.22988): the radius from a private histogram of the units' norms, as a percentile
// (P) or where the estimated error is least (E). Constants follow the authors' code; where that leaks or can loop
// forever, research/methods.md says what is done instead.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "privacy/mechanism/noise.hpp"
#include "privacy/methods/method_state.hpp"
#include "privacy/methods/methods.hpp"

namespace rldp::privacy {

namespace {

constexpr std::size_t bins = 20;
constexpr int most_rounds = 16;  // of widening the search for the least error
constexpr double least_width = 1e-6, greatest_width = 1e6;

class histogram_method : public method {
  public:
    explicit histogram_method(const method_config& config) : config_(config), radius_(config.initial_radius) {}

    step_terms next_terms(double) const override {
        step_terms out;
        out.radii = {radius_};
        out.measured = measure_histogram(width(), bins);
        out.measurement_multiplier = config_.query_noise / out.measured->sensitivity();
        return out;
    }
    at::Tensor absorb(const release& value) override {
        const double mass = std::accumulate(value.statistics.begin(), value.statistics.end(), 0.0);
        if (mass > 0) move(value.statistics, mass, value.charged->noise_multiplier);  // else all is noise
        radius_ = clamped(radius_);
        return value.gradient / config_.expected_batch;
    }
    std::vector<double> radii() const override { return {radius_}; }
    method_state save() const override {
        return {nlohmann::json{{"method", config_.name}, {"radius", radius_}, {"width", width()}}.dump(), {}};
    }

  protected:
    virtual double width() const = 0;  ///< of a bin at the next step
    /// `counts` as released, their sum `mass` > 0.
    virtual void move(std::span<const double> counts, double mass, double noise_multiplier) = 0;
    double clamped(double radius) const { return std::clamp(radius, config_.clip_min, config_.clip_max); }

    method_config config_;
    double radius_;
};

class percentile_method final : public histogram_method {
  public:
    using histogram_method::histogram_method;
    void load(const method_state& from) override {
        radius_ = positive_number(read_numbers(from, config_.name), "radius");
    }

  protected:
    double width() const override { return 2 * radius_ / bins; }
    void move(std::span<const double> counts, double mass, double) override {
        const double stride = width();
        double below = 0;
        std::size_t j = 0;
        while (j + 1 < bins && (below += counts[j]) < config_.quantile * mass) ++j;
        radius_ = stride * (static_cast<double>(j) + 0.5);
    }
};

class error_method final : public histogram_method {
  public:
    explicit error_method(const method_config& config)
        : histogram_method(config), coordinates_(static_cast<double>(count_coordinates(config))) {}
    void load(const method_state& from) override {
        const auto numbers = read_numbers(from, config_.name);
        radius_ = positive_number(numbers, "radius");
        width_ = positive_number(numbers, "width");
    }

  protected:
    double width() const override { return width_; }
    void move(std::span<const double> counts, double mass, double noise_multiplier) override {
        const double z = gradient_multiplier(noise_multiplier, config_.query_noise);
        for (int round = 0; round < most_rounds; ++round) {
            const auto best = best_candidate(counts, mass, z);
            radius_ = clamped(radius_ * 0.1 * best);
            if (best > 1 && best < 20) break;  // at an end the least may lie beyond
        }
        const double upper = std::accumulate(counts.begin() + bins / 2, counts.end(), 0.0);
        if (counts.back() > 0.5 * mass)
            width_ *= 2;
        else if (upper < mass / 20)
            width_ /= 2;
        width_ = std::clamp(width_, least_width, greatest_width);
    }

  private:
    /// Of the radii 0.1·C·i, i = 1..20, the one with the least error of noise and clipping together.
    int best_candidate(std::span<const double> counts, double mass, double z) const {
        int best = 1;
        double least = error_at(0.1 * radius_, counts, mass, z);
        for (int i = 2; i <= 20; ++i) {
            const double error = error_at(0.1 * i * radius_, counts, mass, z);
            if (error < least) {
                least = error;
                best = i;
            }
        }
        return best;
    }
    double error_at(double c, std::span<const double> counts, double mass, double z) const {
        const double noise = z * c / config_.expected_batch;
        double clipped = 0;
        for (std::size_t j = 0; j < bins; ++j) {
            const double excess = (static_cast<double>(j) + 0.5) * width_ - c;
            if (excess > 0) clipped += counts[j] * excess * excess;
        }
        return noise * noise * coordinates_ + clipped / mass;
    }

    double coordinates_;  ///< d
    double width_ = 1;
};

}  // namespace

std::unique_ptr<method> make_histogram_percentile(const method_config& config) {
    return std::make_unique<percentile_method>(config);
}

std::unique_ptr<method> make_histogram_error(const method_config& config) {
    return std::make_unique<error_method>(config);
}

}  // namespace rldp::privacy
