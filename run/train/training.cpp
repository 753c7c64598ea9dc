#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.hpp"
#include "run/train/rate_schedule.hpp"
#include "run/train/training.hpp"

namespace rldp::rl {

namespace {

/// How much of the way from the peak to the last rate lies behind a schedule that has done `done` of `all` steps.
double compute_share(std::int64_t done, std::int64_t all) {
    return std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0);
}

/// Standard deviations [D] of the noise in what methods without a controller make of a release: a sum over B, or a mean
/// as it is.
at::Tensor compute_noise_of_mean(const privacy::sanitizer_config& how, double batch, const privacy::charge& charged,
                                 const privacy::step_terms& terms) {
    const bool mean = terms.rule == privacy::clip_rule::batch_mean;
    return privacy::compute_number_deviations(how, charged, terms) / (mean ? 1 : batch);
}

}  // namespace

double rate_schedule::rate(std::int64_t step) const {
    if (step <= warmup) return peak * compute_share(step, warmup);
    const auto before = step - 1;
    switch (shape) {
        case rate_shape::constant:
            return peak;
        case rate_shape::linear:
            return peak + (last - peak) * compute_share(before - warmup, steps - warmup);
        case rate_shape::cosine: {
            const double way = compute_share(before - warmup, steps - warmup);
            return last + (peak - last) * (1 + std::cos(std::numbers::pi * way)) / 2;
        }
        case rate_shape::wsd:
            return peak + (last - peak) * compute_share(before - (steps - decay), decay);
    }
    return peak;
}

iterate_average::iterate_average(const average_config& config) : config_(config) {
    if (config.how == averaging::none) return;
    require(config.window > 0 && config.window <= 1, "an average is over a share of the steps");
    require(config.steps >= 1, "an average is over steps");
}

void iterate_average::add(std::int64_t step, const at::Tensor& adapter) {
    if (config_.how == averaging::none) return;
    const double reach = std::max(1.0, std::round(config_.window * static_cast<double>(config_.steps)));
    if (config_.how == averaging::tail) {
        if (static_cast<double>(config_.steps - step) >= reach) return;
        weight_ += 1;
    } else {
        weight_ = weight_ * (1 - 1 / reach) + 1;
    }
    const auto here = adapter.to(at::kDouble);
    mean_ = mean_.defined() ? mean_ + (here - mean_) / weight_ : here;
}

at::Tensor iterate_average::of(const at::Tensor& last) const {
    return mean_.defined() ? mean_.to(last.options()) : last;
}

void iterate_average::restore(const at::Tensor& mean, double weight) {
    mean_ = mean;
    weight_ = weight;
}

training::training(const training_config& config, std::unique_ptr<privacy::method> method, at::Tensor adapter)
    : config_(config),
      optimizer_(models::make_optimizer(config.optimizer, std::move(adapter), config.adamw)),
      average_(config.average),
      method_(std::move(method)),
      steered_(dynamic_cast<steered*>(method_.get())) {
    require(config.noised || !(optimizer_->asks_for_noise() || config.traces || config.watches),
            "whoever asks for the noise of releases is told how they are noised");
    chosen_.noise_multiplier = config.initial_noise_multiplier;
    if (method_->probes()) before_ = this->adapter();
    if (config.traces) trace_.emplace(*config.noised);
    if (config.watches) watch_.emplace(config.noised->segments, this->adapter(), config.noised->bands);
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
    models::noisy_gradient seen;
    const bool asked = optimizer_->asks_for_noise();
    if (trace_ || watch_ || asked) {
        const auto terms = method_->next_terms(value.charged->noise_multiplier);  // the method has not moved on yet
        if (trace_) trace_->add(terms, value);
        if (watch_)
            watch_->add(value.gradient, privacy::compute_noise_deviations(*config_.noised, value.charged, terms));
        if (asked)
            seen.deviations = compute_noise_of_mean(*config_.noised, config_.expected_batch, value.charged, terms);
    }
    ++step_;
    seen.values = method_->absorb(value);
    seen.subtracted_variance = method_->noise_variance();
    if (before_.defined()) before_ = adapter();
    optimizer_->step(seen, config_.rate.rate(step_) * chosen_.lr_factor * method_->rate_factor());
    end_step();
    released_ = !value.statistics.empty() || value.unsound;
}

void training::skip() {
    ++lost_;
    if (watch_) watch_->skip();
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
            .features = watch_ ? watch_->features() : std::vector<adapter_features>{},
            .score = watch_ ? watch_->score() : std::nullopt};
}

void training::apply_rates() {
    if (chosen_.rates.empty()) return;
    require(watch_.has_value(), "rates of adapters' own are of a controller that watches them");
    std::vector<at::Tensor> parts;
    for (const auto& part : config_.noised->segments)
        parts.push_back(at::full({part.size}, chosen_.rates.at(part.group), at::kFloat));
    const auto& always = config_.adamw.rate_factors;
    optimizer_->set_rate_factors(always.defined() ? at::cat(parts) * always : at::cat(parts));
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
    return {.optimizer = optimizer_->snapshot(),
            .method = method_->save(),
            .trace = trace(),
            .average = average_.mean(),
            .before = before_,
            .watched = watch_ ? watch_->tensors() : at::Tensor(),
            .rest = rest.dump()};
}

void training::restore(const state& from) {
    const auto rest = nlohmann::json::parse(from.rest);
    optimizer_->restore(from.optimizer);
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

namespace rldp::actors {

step_machine::step_machine(rl::training training, evaluation_times times, iterate_choice choice, public_probe probe)
    : training_(std::move(training)), times_(times), choice_(std::move(choice)), probe_(std::move(probe)) {
    look_at_schedule();
    checkpoint_ = false;  // that is where it begins
}

step_machine::due step_machine::next() const {
    if (decision_) return due::decision;
    if (evaluation_) return due::evaluation;
    if (checkpoint_) return due::checkpoint;
    return training_.finished() ? due::end : due::step;
}

rl::block_observation step_machine::observe(double epsilon_spent) {
    auto out = training_.observe(epsilon_spent);
    if (probe_) out.log_public_loss = probe_(training_.adapter());
    return out;
}

void step_machine::decide(const rl::block_action& chosen) {
    training_.set(chosen);
    decision_ = false;
}

eval::metrics_line step_machine::apply(const privacy::charge& charged, const privacy::release* released,
                                       const eval::progress_price& progress) {
    auto radii = training_.radii();
    std::optional<eval::metrics_line::steering> steered;
    if (const auto& set = training_.chosen(); set.trust) steered = {set.lr_factor, set.rates, *set.trust};
    if (released != nullptr)
        training_.apply(*released);
    else
        training_.skip();
    if (training_.finished() && choice_ && choice_(training_.adapter(), training_.average())) training_.keep_last();
    look_at_schedule();
    decision_ = training_.decision_due();
    return {.step = training_.step(),
            .loss_released = training_.released_loss(),
            .noise_multiplier = charged->noise_multiplier,
            .radii = std::move(radii),
            .progress = progress,
            .eval_perplexity = std::nullopt,
            .steered = std::move(steered),
            .ledger = charged->hash};
}

std::string step_machine::kept() const {
    if (!choice_ || !training_.finished()) return {};
    return training_.keeps_last() ? "last" : "average";
}

void step_machine::restore(const rl::training::state& from) {
    training_.restore(from);
    look_at_schedule();
    checkpoint_ = false;
}

void step_machine::look_at_schedule() {
    const auto step = training_.step();
    evaluation_ = times_.due(step) || (times_.looks.empty() && training_.finished());
    checkpoint_ = (step % times_.every == 0 || owed_) && !training_.finished();
}

}  // namespace rldp::actors
