#include "privacy/mechanism/measurement.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "privacy/mechanism/statistics.hpp"

namespace rldp::privacy {

namespace {

/// Calls `see` with each unit's norm of the only group.
template <class See>
void each_norm(const at::Tensor& norms, See see) {
    require(norms.dim() == 2 && norms.size(1) == 1, "measurement: one group of norms is needed, [units, 1]");
    const auto rows = norms.contiguous();
    std::for_each_n(rows.data_ptr<double>(), rows.numel(), see);
}

}  // namespace

class statistics_measurement final : public measurement {
  public:
    explicit statistics_measurement(const statistics_frame& frame) : frame_(frame) {}
    std::size_t entries() const override { return 3 * frame_.trackers.size() + 5; }
    double sensitivity() const override {
        return weights_for(frame_.trackers.size()).sensitivity(frame_.trackers.size());
    }
    void add(const at::Tensor& norms, const at::Tensor& losses, std::vector<double>& sum) const override {
        const auto more = statistics_sum(norms, losses, frame_).sum;
        std::transform(more.begin(), more.end(), sum.begin(), sum.begin(), std::plus<>());
    }
    nlohmann::json described() const override {
        return {{"kind", "statistics"},
                {"trackers", frame_.trackers},
                {"loss_centre", frame_.loss_centre},
                {"loss_range", frame_.loss_range},
                {"norm_range", frame_.norm_range}};
    }

  private:
    statistics_frame frame_;
};

class below_measurement final : public measurement {
  public:
    explicit below_measurement(double radius) : radius_(radius) {}
    std::size_t entries() const override { return 1; }
    double sensitivity() const override { return 0.5; }
    void add(const at::Tensor& norms, const at::Tensor&, std::vector<double>& sum) const override {
        each_norm(norms, [&](double norm) { sum[0] += within(norm / radius_) - 0.5; });
    }
    nlohmann::json described() const override { return {{"kind", "below"}, {"radius", radius_}}; }

  private:
    double radius_;
};

class histogram_measurement final : public measurement {
  public:
    histogram_measurement(double width, std::size_t bins) : width_(width), bins_(bins) {}
    std::size_t entries() const override { return bins_; }
    double sensitivity() const override { return 1; }
    void add(const at::Tensor& norms, const at::Tensor&, std::vector<double>& sum) const override {
        const auto last = static_cast<double>(bins_ - 1);
        each_norm(norms, [&](double norm) {
            const double at = std::min(norm / width_, last + 0.5);
            const double meeting = std::clamp(std::round(at), 1.0, std::max(1.0, last));  // of two bins, the nearest
            const double below = bins_ == 1 ? 1 : std::clamp((meeting + edge - at) / (2 * edge), 0.0, 1.0);
            const auto upper = static_cast<std::size_t>(meeting);
            sum[upper - 1] += below;
            if (bins_ > 1) sum[upper] += 1 - below;
        });
    }
    nlohmann::json described() const override { return {{"kind", "histogram"}, {"width", width_}, {"bins", bins_}}; }

  private:
    double width_;
    std::size_t bins_;
};

class losses_measurement final : public measurement {
  public:
    losses_measurement(double range, std::size_t probes) : range_(range), probes_(probes) {}
    std::size_t entries() const override { return probes_; }
    double sensitivity() const override { return 0.5 * std::sqrt(static_cast<double>(probes_)); }
    void add(const at::Tensor&, const at::Tensor& losses, std::vector<double>& sum) const override {
        require(losses.dim() == 2 && losses.size(1) == 1 + static_cast<std::int64_t>(probes_),
                "measurement: losses at the probes are needed, [units, 1 + probes]");
        const auto rows = losses.contiguous();
        const double* at = rows.data_ptr<double>();
        for (std::int64_t unit = 0; unit < rows.size(0); ++unit) {
            ++at;  // the loss that the gradient is of
            for (std::size_t k = 0; k < probes_; ++k, ++at)
                if (std::isfinite(*at)) sum[k] += std::clamp(*at / range_, 0.0, 1.0) - 0.5;
        }
    }
    nlohmann::json described() const override { return {{"kind", "losses"}, {"range", range_}, {"probes", probes_}}; }

  private:
    double range_;
    std::size_t probes_;
};

std::shared_ptr<const measurement> measure_statistics(const statistics_frame& frame) {
    return std::make_shared<statistics_measurement>(frame);
}

std::shared_ptr<const measurement> measure_below(double radius) {
    require_positive(radius, "the radius that norms are measured against");
    return std::make_shared<below_measurement>(radius);
}

std::shared_ptr<const measurement> measure_histogram(double width, std::size_t bins) {
    require_positive(width, "the width of a histogram's bin");
    require(bins > 0, "a histogram needs a bin");
    return std::make_shared<histogram_measurement>(width, bins);
}

std::shared_ptr<const measurement> measure_losses(double range, std::size_t probes) {
    require_positive(range, "the range of losses");
    require(probes > 0, "losses are measured at a probe at least");
    return std::make_shared<losses_measurement>(range, probes);
}

std::shared_ptr<const measurement> measurement_from(const nlohmann::json& described) try {
    const auto kind = described.at("kind").get<std::string>();
    if (kind == "below") return measure_below(described.at("radius"));
    if (kind == "histogram") return measure_histogram(described.at("width"), described.at("bins"));
    if (kind == "losses") return measure_losses(described.at("range"), described.at("probes"));
    require(kind == "statistics", "a measurement of no known kind");
    return measure_statistics({described.at("trackers"), described.at("loss_centre"), described.at("loss_range"),
                               described.at("norm_range")});
} catch (const nlohmann::json::exception& e) {
    refuse(std::string("no description of a measurement: ") + e.what());
}

}  // namespace rldp::privacy
