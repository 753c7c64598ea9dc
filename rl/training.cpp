#include "rl/training.hpp"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace rldp::rl {

training::training(const training_config& config, std::unique_ptr<privacy::method> method, at::Tensor adapter)
    : config_(config),
      optimizer_(std::move(adapter), config.optimizer),
      average_(config.average),
      method_(std::move(method)),
      steered_(dynamic_cast<steered*>(method_.get())),
      noise_multiplier_(config.initial_noise_multiplier) {
    if (method_->probes()) before_ = this->adapter();
    if (config.traced) trace_.emplace(*config.traced);
}

std::optional<double> training::released_loss() const {
    return steered_ && released_ ? std::optional(steered_->last_loss()) : std::nullopt;
}

privacy::step_order training::order(const privacy::charge& charged) const {
    privacy::step_order out{charged, method_->prepare(charged->noise_multiplier)};
    for (const double far : out.terms.probes) out.probes.push_back(adapter() + (adapter() - before_) * far);
    return out;
}

void training::apply(const privacy::release& value) {
    if (trace_)
        trace_->add(method_->prepare(value.charged->noise_multiplier), value);  // the method has not moved on yet
    ++step_;
    const auto estimate = method_->absorb(value);
    if (before_.defined()) before_ = adapter();
    optimizer_.step(estimate, config_.rate.rate(step_) * lr_factor_ * method_->rate_factor(),
                    method_->noise_variance());
    average_.add(step_, adapter());
    released_ = !value.statistics.empty() || value.unsound;
}

void training::skip() {
    ++lost_;
    ++step_;
    average_.add(step_, adapter());
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
    const nlohmann::json rest = {{"step", step_},
                                 {"lost", lost_},
                                 {"noise_multiplier", noise_multiplier_},
                                 {"lr_factor", lr_factor_},
                                 {"average_weight", average_.weight()}};
    return {optimizer_.snapshot(), method_->save(), trace(), average_.mean(), before_, rest.dump()};
}

void training::restore(const state& from) {
    const auto rest = nlohmann::json::parse(from.rest);
    optimizer_.restore(from.optimizer);
    method_->load(from.method);
    if (trace_) trace_->restore(from.trace);
    const auto device = adapter().device();
    average_.restore(from.average.defined() ? from.average.to(device) : from.average, rest.at("average_weight"));
    if (before_.defined()) before_ = from.before.to(device);
    step_ = rest.at("step");
    lost_ = rest.at("lost");
    noise_multiplier_ = rest.at("noise_multiplier");
    lr_factor_ = rest.at("lr_factor");
}

}  // namespace rldp::rl
