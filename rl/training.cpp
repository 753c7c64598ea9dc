#include "rl/training.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace rldp::rl {

training::training(const training_config& config, std::size_t groups, at::Tensor adapter)
    : config_(config),
      optimizer_(std::move(adapter)),
      tracker_(groups, config.expected_batch, config.initial_radius, config.initial_loss) {
    dials_.radii.assign(groups, config.initial_radius);
    dials_.noise_multiplier = config.initial_noise_multiplier;
}

std::optional<double> training::released_loss() const {
    return released_ ? std::optional(tracker_.last_loss()) : std::nullopt;
}

privacy::step_order training::order(std::uint64_t seq, double noise_multiplier) const {
    return {.seq = seq,
            .step = step_ + 1,
            .noise_multiplier = noise_multiplier,
            .radii = dials_.radii,
            .shares = dials_.shares,
            .frame = tracker_.frame()};
}

void training::apply(const privacy::release& value) {
    const double ramp = config_.lr_warmup > 0
                            ? std::min(1.0, static_cast<double>(step_ + 1) / static_cast<double>(config_.lr_warmup))
                            : 1.0;
    // Divided by the public B = q·N, never by the realised batch size, which is private (contract §1).
    optimizer_.step(value.gradient / config_.expected_batch, config_.lr * ramp * dials_.lr_factor);
    released_ = !value.statistics.empty() || value.unsound;
    if (released_) tracker_.add(value);
    advance();
}

void training::skip() {
    ++lost_;
    released_ = false;
    advance();
}

void training::advance() {
    ++step_;
    if (!config_.controlled || step_ > config_.warmup || !released_) return;
    const auto medians = tracker_.medians();
    std::transform(medians.begin(), medians.end(), dials_.radii.begin(), [&](double m) { return clamp_radius(m); });
}

double training::clamp_radius(double radius) const {
    return std::clamp(radius, config_.clip_min, config_.clip_max);
}

bool training::decision_due() const {
    return config_.controlled && step_ > config_.warmup && step_ % config_.interval == 0 && !finished();
}

privacy::observation training::observe(double progress_epsilon) {
    return tracker_.observe(progress_epsilon);
}

void training::set(const dials& chosen) {
    auto next = chosen;
    if (next.radii.empty()) next.radii = dials_.radii;
    dials_ = std::move(next);
}

training::state training::snapshot() const {
    const nlohmann::json rest = {{"step", step_},
                                 {"lost", lost_},
                                 {"radii", dials_.radii},
                                 {"shares", dials_.shares},
                                 {"noise_multiplier", dials_.noise_multiplier},
                                 {"lr_factor", dials_.lr_factor},
                                 {"tracker", tracker_.save()}};
    return {optimizer_.snapshot(), rest.dump()};
}

void training::restore(const state& from) {
    const auto rest = nlohmann::json::parse(from.rest);
    optimizer_.restore(from.optimizer);
    tracker_.load(rest.at("tracker").get<std::string>());
    step_ = rest.at("step");
    lost_ = rest.at("lost");
    dials_.radii = rest.at("radii").get<std::vector<double>>();
    dials_.shares = rest.at("shares").get<std::vector<double>>();
    dials_.noise_multiplier = rest.at("noise_multiplier");
    dials_.lr_factor = rest.at("lr_factor");
}

}  // namespace rldp::rl
