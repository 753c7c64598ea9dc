#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "base/error.hpp"
#include "privacy/spending/policy.hpp"
#include "rl/published_controller.hpp"

namespace rldp::rl {
namespace {

constexpr double largest_step = 0.1;  // δ_max, of a logarithm
constexpr double smoothing = 0.8;     // β_σ

double smoothed(double old, double step, double low, double high) {
    return smoothing * old + (1 - smoothing) * std::clamp(old + step, low, high);
}

}  // namespace

std::vector<double> radii_from(std::span<const double> action, const std::vector<double>& base_radii, double clip_min,
                               double clip_max) {
    std::vector<double> radii;
    for (std::size_t i = 0; i < action.size(); ++i) {
        const double scale = base_radii.empty() ? 1 : base_radii[i];
        radii.push_back(std::clamp(scale * std::exp(action[i]), clip_min, clip_max));
    }
    return radii;
}

double next_log_sigma(double log_sigma, double action, double spent_fraction, double initial_noise_multiplier) {
    // ε_t is for orientation and may pass ε_max at the very end; the step then is 0, never reversed.
    const double step = std::tanh(action) * largest_step * std::max(0.0, 1 - spent_fraction);
    const privacy::noise_range allowed(initial_noise_multiplier);
    return smoothed(log_sigma, step, std::log(allowed.least), std::log(allowed.most));
}

std::vector<double> shares_from(std::span<const double> action) {
    // A share must stay positive in floating point: the noise of a group is finite only then. The Gaussian policy is
    // not squashed, so its logits are held within ±10.
    std::vector<double> shares;
    double sum = 0;
    for (const double a : action) {
        shares.push_back(std::exp(std::clamp(a, -10.0, 10.0)));
        sum += shares.back();
    }
    for (double& share : shares) share /= sum;
    return shares;
}

double next_log_lr(double log_lr, double action) {
    return smoothed(log_lr, std::tanh(action) * largest_step, -std::log(4.0), std::log(4.0));
}

std::vector<double> normaliser::add(const std::vector<double>& values) {
    require(values.size() == mean_.size(), "controller: an observation of the wrong size");
    ++count_;
    const auto n = static_cast<double>(count_);
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) throw error(errc::failed, "controller: an observation that is not finite");
        const double before = values[i] - mean_[i];
        mean_[i] += before / n;
        const double after = values[i] - mean_[i];
        m2_[i] += before * after;
        // A number that has never changed carries nothing. An outlier after a long quiet time would saturate the
        // encoder.
        if (m2_[i] > 0) result[i] = std::clamp(after / std::sqrt(m2_[i] / n), -10.0, 10.0);
    }
    return result;
}

void normaliser::restore(const state& from) {
    if (from.mean.size() != mean_.size() || from.m2.size() != m2_.size() || from.count < 0)
        refuse(
            "controller checkpoint: an observation of another size than this configuration's; resume with the run's "
            "own");
    mean_ = from.mean;
    m2_ = from.m2;
    count_ = from.count;
}

namespace {

using nlohmann::json;

bool contains(const std::vector<controller_action>& all, controller_action one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

void check(const controller_config& c) {
    require(!c.actions.empty(), "the controller has no action");
    require(c.mode != controller_mode::shuffled && c.mode != controller_mode::deaf,
            "a control of prepared policies is none of the published controller's");
    require(c.groups > 0, "the controller has no adapter to act on");
    require(c.clip_min > 0 && c.clip_min <= c.clip_max && std::isfinite(c.clip_max),
            "clip.min and clip.max are no range of positive numbers");
    require_positive(c.initial_noise_multiplier, "the initial noise multiplier");
    require_positive(c.epsilon_budget, "privacy.epsilon");
    require_positive(c.reward_floor, "rl.reward_floor");
}

controller_config checked(controller_config c) {
    check(c);
    const auto n = static_cast<std::int64_t>(c.groups);
    const auto size = [&](controller_action one, std::int64_t components) {
        return contains(c.actions, one) ? components : 0;
    };
    c.learner.state_size = 3 * n + 8;
    c.learner.action_size = size(controller_action::radii, n) + size(controller_action::noise, 1) +
                            size(controller_action::shares, n) + size(controller_action::lr, 1);
    return c;
}

}  // namespace

double reward(double utility_change, double epsilon_change, double reward_floor) {
    // ε_t never falls; an accountant's rounding may say so, and must not divide by zero.
    const double ratio = utility_change / (std::max(0.0, epsilon_change) + 1e-6);
    return std::max(-reward_floor, std::log(1 + std::max(ratio, -0.999)));
}

published_controller::published_controller(const controller_config& config)
    : config_(checked(config)),
      learner_(config_.learner),
      normaliser_(static_cast<std::size_t>(config_.learner.state_size)),
      log_sigma_(std::log(config_.initial_noise_multiplier)) {}

bool published_controller::acts_on(controller_action one) const {
    return contains(config_.actions, one);
}

block_action published_controller::decide(const block_observation& at) {
    const auto& seen = at.released;
    auto state = normaliser_.add(seen.flat());
    if (open_)
        learner_.remember({std::move(open_->state), std::move(open_->action),
                           reward(seen.utility - open_->utility, seen.epsilon - open_->epsilon, config_.reward_floor),
                           state});
    const auto action = config_.mode == controller_mode::random ? random_action() : learner_.act(state);
    const auto result = make_block_action(action, seen, at.base_radii);
    open_ = step{std::move(state), action, seen.utility, seen.epsilon};
    ++decisions_;
    return result;
}

block_action published_controller::make_block_action(const std::vector<double>& action,
                                                     const privacy::observation& seen,
                                                     const std::vector<double>& base_radii) {
    std::span<const double> rest = action;
    const auto take = [&](std::size_t count) {
        const auto front = rest.first(count);
        rest = rest.subspan(count);
        return front;
    };
    block_action result;
    if (acts_on(controller_action::radii)) {
        const bool delta = config_.clip_action == clip_action::delta;
        require(!delta || base_radii.size() == config_.groups, "controller: there is not one base radius per group");
        result.radii = radii_from(take(config_.groups), delta ? base_radii : std::vector<double>{}, config_.clip_min,
                                  config_.clip_max);
    }
    if (acts_on(controller_action::noise))
        log_sigma_ = next_log_sigma(log_sigma_, take(1)[0], seen.epsilon / config_.epsilon_budget,
                                    config_.initial_noise_multiplier);
    if (acts_on(controller_action::shares)) result.shares = shares_from(take(config_.groups));
    if (acts_on(controller_action::lr)) log_lr_ = next_log_lr(log_lr_, take(1)[0]);
    result.noise_multiplier = std::exp(log_sigma_);
    result.lr_factor = std::exp(log_lr_);
    return result;
}

std::vector<double> published_controller::random_action() const {
    std::seed_seq seed{config_.learner.seed, decisions_};
    std::mt19937_64 random(seed);
    std::normal_distribution<double> standard;
    std::vector<double> action(static_cast<std::size_t>(config_.learner.action_size));
    for (double& component : action) component = standard(random);
    return action;
}

void published_controller::learn() {
    if (config_.mode == controller_mode::learned) learner_.learn();
}

std::string published_controller::save() const {
    const auto seen = normaliser_.snapshot();
    json content = {{"mean", seen.mean},       {"m2", seen.m2},           {"seen", seen.count},
                    {"decisions", decisions_}, {"log_sigma", log_sigma_}, {"log_lr", log_lr_}};
    if (open_) content["open"] = {open_->state, open_->action, open_->utility, open_->epsilon};
    const auto learner = learner_.save();
    content["learner"] = json::binary({learner.begin(), learner.end()});
    std::string out;
    json::to_cbor(content, out);
    return out;
}

void published_controller::load(const std::string& bytes) try {
    const auto content = json::from_cbor(bytes);
    const auto& learner = content.at("learner").get_binary();
    learner_.load({learner.begin(), learner.end()});
    normaliser_.restore({content.at("mean").get<std::vector<double>>(), content.at("m2").get<std::vector<double>>(),
                         content.at("seen").get<std::int64_t>()});
    decisions_ = content.at("decisions").get<std::int64_t>();
    log_sigma_ = content.at("log_sigma").get<double>();
    log_lr_ = content.at("log_lr").get<double>();
    open_.reset();
    if (content.contains("open")) {
        const auto& open = content.at("open");
        open_ = step{open.at(0).get<std::vector<double>>(), open.at(1).get<std::vector<double>>(),
                     open.at(2).get<double>(), open.at(3).get<double>()};
    }
} catch (const json::exception& reason) {
    refuse(fmt::format("controller checkpoint: {}; it is damaged, resume from an older one", reason.what()));
}

}  // namespace rldp::rl
