#include "rl/training.hpp"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "config/base/require.hpp"

namespace rldp::rl {

training::training(const training_config& config, std::unique_ptr<privacy::method> method, at::Tensor adapter)
    : config_(config),
      optimizer_(std::move(adapter), config.optimizer),
      average_(config.average),
      method_(std::move(method)),
      steered_(dynamic_cast<steered*>(method_.get())) {
    chosen_.noise_multiplier = config.initial_noise_multiplier;
    if (method_->probes()) before_ = this->adapter();
    if (config.traced) trace_.emplace(*config.traced);
    if (config.watched) watch_.emplace(config.watched->segments, this->adapter());
}

std::optional<double> training::released_loss() const {
    return steered_ && released_ ? std::optional(steered_->last_loss()) : std::nullopt;
}

privacy::step_order training::order(const privacy::charge& charged) const {
    privacy::step_order out{charged, method_->next_terms(charged->noise_multiplier)};
    for (const double far : out.terms.probes) out.probes.push_back(adapter() + (adapter() - before_) * far);
    return out;
}

void training::apply(const privacy::release& value) {
    if (trace_ || watch_) {
        const auto terms = method_->next_terms(value.charged->noise_multiplier);  // the method has not moved on yet
        if (trace_) trace_->add(terms, value);
        if (watch_) watch_->add(value.gradient, privacy::compute_noise_deviations(*config_.watched, value.charged, terms));
    }
    ++step_;
    const auto estimate = method_->absorb(value);
    if (before_.defined()) before_ = adapter();
    optimizer_.step(estimate, config_.rate.rate(step_) * chosen_.lr_factor * method_->rate_factor(),
                    method_->noise_variance());
    end_step();
    released_ = !value.statistics.empty() || value.unsound;
}

void training::skip() {
    ++lost_;
    ++step_;
    end_step();
    released_ = false;
}

void training::end_step() {
    average_.add(step_, adapter());
    if (watch_ && step_ % config_.interval == 0) watch_->close(adapter());
}

bool training::decision_due() const {
    return steered_ && step_ > config_.warmup && step_ % config_.interval == 0 && !finished();
}

block_observation training::observe(double epsilon_spent) {
    return {.released = steered_->observe(epsilon_spent),
            .base_radii = steered_->base_radii(),
            .time = static_cast<double>(step_) / static_cast<double>(config_.steps),
            .features = watch_ ? watch_->features() : std::vector<adapter_features>{}};
}

void training::apply_rates() {
    if (chosen_.rates.empty()) return;
    require(watch_.has_value(), "rates of adapters' own are of a controller that watches them");
    std::vector<at::Tensor> parts;
    for (const auto& part : config_.watched->segments)
        parts.push_back(at::full({part.size}, chosen_.rates.at(part.group), at::kFloat));
    const auto& always = config_.optimizer.rate_factors;
    optimizer_.set_rate_factors(always.defined() ? at::cat(parts) * always : at::cat(parts));
}

void training::set(const block_action& chosen) {
    steered_->set(chosen.radii, chosen.shares);
    chosen_ = chosen;
    apply_rates();
}

training::state training::snapshot() const {
    nlohmann::json rest = {{"step", step_},
                           {"lost", lost_},
                           {"noise_multiplier", chosen_.noise_multiplier},
                           {"lr_factor", chosen_.lr_factor},
                           {"rates", chosen_.rates},
                           {"shares", chosen_.shares},
                           {"average_weight", average_.weight()},
                           {"last_kept", last_kept_}};
    if (watch_) rest["watched"] = watch_->numbers();
    if (chosen_.trust) rest["trust"] = *chosen_.trust;
    return {.optimizer = optimizer_.snapshot(),
            .method = method_->save(),
            .trace = trace(),
            .average = average_.mean(),
            .before = before_,
            .watched = watch_ ? watch_->tensors() : at::Tensor(),
            .rest = rest.dump()};
}

void training::restore(const state& from) {
    const auto rest = nlohmann::json::parse(from.rest);
    optimizer_.restore(from.optimizer);
    method_->load(from.method);
    if (trace_) trace_->restore(from.trace);
    if (watch_) watch_->restore(from.watched, rest.at("watched"));
    const auto device = adapter().device();
    average_.restore(from.average.defined() ? from.average.to(device) : from.average, rest.at("average_weight"));
    if (before_.defined()) before_ = from.before.to(device);
    step_ = rest.at("step");
    lost_ = rest.at("lost");
    last_kept_ = rest.at("last_kept");
    chosen_ = {.radii = {},
               .shares = rest.at("shares"),
               .noise_multiplier = rest.at("noise_multiplier"),
               .lr_factor = rest.at("lr_factor"),
               .rates = rest.at("rates")};
    if (rest.contains("trust")) chosen_.trust = rest.at("trust").get<double>();
    apply_rates();
}

}  // namespace rldp::rl
