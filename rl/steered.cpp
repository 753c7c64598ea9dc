#include "rl/steered.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "config/base/error.hpp"
#include "config/base/require.hpp"
#include "privacy/mechanism/noise.hpp"
#include "privacy/methods/method_state.hpp"

namespace rldp::rl {

steered::steered(const steered_config& config)
    : config_(config),
      groups_(privacy::sizes_of_groups(config.segments).size()),
      tracker_(groups_, config.expected_batch, config.initial_radius, config.initial_loss),
      radii_(groups_, config.initial_radius) {
    if (config_.public_radii.empty()) return;
    require(config_.public_radii.size() == groups_, "there is not one public radius per group");
    follow_medians();
}

privacy::step_terms steered::next_terms(double noise_multiplier) const {
    privacy::step_terms out;
    out.radii = radii_;
    out.shares = shares_;
    if (config_.statistics_share == 0) return out;
    out.measured = privacy::measure_statistics(tracker_.frame());
    out.measurement_multiplier = privacy::measurement_multiplier(noise_multiplier, config_.statistics_share);
    return out;
}

at::Tensor steered::absorb(const privacy::release& value) {
    auto out = estimate(value.gradient);
    const bool told = !value.statistics.empty() || value.unsound;
    if (told) tracker_.add(value);
    if (told && value.charged->step <= config_.warmup) follow_medians();
    return out;
}

at::Tensor steered::estimate(const at::Tensor& sum) const {
    auto out = sum / config_.expected_batch;
    if (!config_.rescale) return out;
    std::int64_t offset = 0;
    for (const auto& part : config_.segments) {
        out.narrow(0, offset, part.size) /= radii_[part.group];
        offset += part.size;
    }
    return out;
}

std::vector<double> steered::base_radii() const {
    auto out = config_.public_radii.empty() ? tracker_.medians() : config_.public_radii;
    for (double& radius : out) radius *= config_.radius_scale;
    return out;
}

void steered::follow_medians() {
    radii_ = base_radii();
    for (double& radius : radii_) radius = std::clamp(radius, config_.clip_min, config_.clip_max);
}

void steered::set(const std::vector<double>& radii, const std::vector<double>& shares) {
    if (!radii.empty()) radii_ = radii;
    shares_ = shares;
}

privacy::method_state steered::save() const {
    return {
        nlohmann::json{{"method", "rldp"}, {"radii", radii_}, {"shares", shares_}, {"tracker", tracker_.save()}}.dump(),
        {}};
}

void steered::load(const privacy::method_state& from) try {
    const auto numbers = privacy::read_numbers(from, "rldp");
    tracker_.load(numbers.at("tracker").get<std::string>());
    radii_ = numbers.at("radii").get<std::vector<double>>();
    shares_ = numbers.at("shares").get<std::vector<double>>();
} catch (const nlohmann::json::exception& reason) {
    refuse(std::string("checkpoint: the state of method rldp can't be read: ") + reason.what());
}

}  // namespace rldp::rl
