#include "rl/steered.hpp"

#include <torch/torch.h>

#include <algorithm>

#include "config/error.hpp"
#include "privacy/method_state.hpp"
#include "privacy/noise.hpp"

namespace rldp::rl {

steered::steered(const steered_config& config)
    : config_(config),
      tracker_(config.groups, config.expected_batch, config.initial_radius, config.initial_loss),
      radii_(config.groups, config.initial_radius) {
    if (config_.public_radii.empty()) return;
    if (config_.public_radii.size() != config_.groups) refuse("clip.public_data: one radius per group is needed");
    follow(config_.public_radii);
}

void steered::prepare(privacy::step_order& order) const {
    order.radii = radii_;
    order.shares = shares_;
    if (config_.statistics_share == 0) return;
    order.measured = privacy::measure_statistics(tracker_.frame());
    order.measurement_multiplier = privacy::measurement_multiplier(order.noise_multiplier, config_.statistics_share);
}

at::Tensor steered::absorb(const privacy::release& value) {
    const bool told = !value.statistics.empty() || value.unsound;
    if (told) tracker_.add(value);
    if (told && value.step <= config_.warmup && config_.public_radii.empty()) follow(tracker_.medians());
    return value.gradient / config_.expected_batch;
}

void steered::follow(const std::vector<double>& medians) {
    std::transform(medians.begin(), medians.end(), radii_.begin(),
                   [&](double radius) { return std::clamp(radius, config_.clip_min, config_.clip_max); });
}

std::vector<double> steered::medians() const {
    return config_.public_radii.empty() ? tracker_.medians() : config_.public_radii;
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
    const auto numbers = privacy::numbers_of(from, "rldp");
    tracker_.load(numbers.at("tracker").get<std::string>());
    radii_ = numbers.at("radii").get<std::vector<double>>();
    shares_ = numbers.at("shares").get<std::vector<double>>();
} catch (const nlohmann::json::exception& reason) {
    refuse(std::string("checkpoint: the state of method rldp can't be read: ") + reason.what());
}

}  // namespace rldp::rl
