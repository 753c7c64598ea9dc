#include "rl/training.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace rldp::rl {

training::training(const training_config& config, std::unique_ptr<privacy::method> method, at::Tensor adapter)
    : config_(config),
      optimizer_(std::move(adapter)),
      method_(std::move(method)),
      steered_(dynamic_cast<steered*>(method_.get())),
      noise_multiplier_(config.initial_noise_multiplier) {
    if (config.traced) trace_.emplace(*config.traced);
}

std::optional<double> training::released_loss() const {
    return steered_ && released_ ? std::optional(steered_->last_loss()) : std::nullopt;
}

privacy::step_order training::order(const privacy::charge& charged) const {
    return {charged, method_->prepare(charged->noise_multiplier)};
}

void training::apply(const privacy::release& value) {
    if (trace_)
        trace_->add(method_->prepare(value.charged->noise_multiplier), value);  // the method has not moved on yet
    const double ramp = config_.lr_warmup > 0
                            ? std::min(1.0, static_cast<double>(step_ + 1) / static_cast<double>(config_.lr_warmup))
                            : 1.0;
    optimizer_.step(method_->absorb(value), config_.lr * ramp * lr_factor_);
    released_ = !value.statistics.empty() || value.unsound;
    ++step_;
}

void training::skip() {
    ++lost_;
    ++step_;
    released_ = false;
}

bool training::decision_due() const {
    return steered_ && step_ > config_.warmup && step_ % config_.interval == 0 && !finished();
}

void training::set(const dials& chosen) {
    steered_->set(chosen.radii, chosen.shares);
    noise_multiplier_ = chosen.noise_multiplier;
    lr_factor_ = chosen.lr_factor;
}

training::state training::snapshot() const {
    const nlohmann::json rest = {
        {"step", step_}, {"lost", lost_}, {"noise_multiplier", noise_multiplier_}, {"lr_factor", lr_factor_}};
    return {optimizer_.snapshot(), method_->save(), trace(), rest.dump()};
}

void training::restore(const state& from) {
    const auto rest = nlohmann::json::parse(from.rest);
    optimizer_.restore(from.optimizer);
    method_->load(from.method);
    if (trace_) trace_->restore(from.trace);
    step_ = rest.at("step");
    lost_ = rest.at("lost");
    noise_multiplier_ = rest.at("noise_multiplier");
    lr_factor_ = rest.at("lr_factor");
}

}  // namespace rldp::rl
