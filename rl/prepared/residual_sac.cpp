#include "rl/prepared/residual_sac.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "models/adamw.hpp"
#include "models/thread_count.hpp"
#include "rl/networks.hpp"

namespace rldp::rl {

using nlohmann::json;

namespace {

void check(const residual_sac_config& c) {
    for (const auto size : {c.hidden, c.batch, c.most_adapters})
        require(size >= 1, "sac on sets: sizes are at least 1");
    require(c.replay >= c.batch, "sac on sets: the replay holds less than a batch");
    require(c.alpha >= 0, "sac on sets: the temperature is not negative");
    for (const double part : {c.tau, c.actor_lr, c.critic_lr})
        require(part >= 0 && part <= 1, "sac on sets: tau and learning rates lie in [0, 1]");
}

adapter_set take_rows(const adapter_set& all, const at::Tensor& which) {
    return {all.adapters.index_select(0, which), all.present.index_select(0, which), all.global.index_select(0, which)};
}

set_action take_rows(const set_action& all, const at::Tensor& which) {
    return {all.global.index_select(0, which), all.adapters.index_select(0, which)};
}

}  // namespace

struct residual_sac::impl {
    residual_sac_config config;
    set_networks nets;
    at::Generator generator;
    models::adamw actor, critics;
    at::Tensor targets;
    adapter_set seen, next;
    set_action raw;
    at::Tensor reward, goes_on;  // [replay]
    std::int64_t taken = 0;      // transitions so far

    // With the names that they have in a save.
    auto replayed() {
        return std::array<std::pair<const char*, at::Tensor*>, 10>{{{"seen_adapters", &seen.adapters},
                                                                    {"seen_present", &seen.present},
                                                                    {"seen_global", &seen.global},
                                                                    {"next_adapters", &next.adapters},
                                                                    {"next_present", &next.present},
                                                                    {"next_global", &next.global},
                                                                    {"raw_global", &raw.global},
                                                                    {"raw_adapters", &raw.adapters},
                                                                    {"reward", &reward},
                                                                    {"goes_on", &goes_on}}};
    }

    struct minibatch {
        adapter_set seen, next;
        set_action raw;
        at::Tensor reward, goes_on;
    };

    impl(const residual_sac_config& c, const at::Tensor& first)
        : config(c),
          nets(c.hidden),
          generator(at::detail::createCPUGenerator(c.seed)),
          actor(first.defined() ? first.clone() : nets.initial_actor(generator)),
          critics(nets.initial_critics(generator)),
          targets(critics.parameters().clone()),
          seen(empty_sets(c.replay, c.most_adapters)),
          next(empty_sets(c.replay, c.most_adapters)),
          raw(empty_actions(c.replay, c.most_adapters)),
          reward(at::zeros({c.replay})),
          goes_on(at::zeros({c.replay})) {}

    std::int64_t held() const { return std::min(taken, config.replay); }

    minibatch draw() const {
        const auto which = at::randint(held(), {config.batch}, generator, at::TensorOptions(at::kLong));
        return {take_rows(seen, which), take_rows(next, which), take_rows(raw, which), reward.index_select(0, which),
                goes_on.index_select(0, which)};
    }

    // y = r + min_k Q̄_k(s', a') − α·log π(a'|s'), where something follows
    at::Tensor soft_bellman_target(const minibatch& batch) const {
        const at::NoGradGuard no_gradient;
        const auto said = nets.policy(actor.parameters(), batch.next);
        const auto action = said.sample(generator);
        const auto [first, second] = nets.values(targets, batch.next, action);
        const auto entropy = -said.log_density(action, batch.next.present);
        return batch.reward + batch.goes_on * (at::minimum(first, second) + config.alpha * entropy);
    }

    void update_critics(const minibatch& batch) {
        const auto target = soft_bellman_target(batch);
        const auto leaf = critics.parameters().detach().requires_grad_();
        const auto [first, second] = nets.values(leaf, batch.seen, batch.raw);
        const auto loss = at::huber_loss(first, target) + at::huber_loss(second, target);
        critics.step(torch::autograd::grad({loss}, {leaf})[0], config.critic_lr);
    }

    void update_actor(const minibatch& batch) {
        const auto leaf = actor.parameters().detach().requires_grad_();
        const auto said = nets.policy(leaf, batch.seen);
        const auto action = said.sample(generator);
        const auto [first, second] = nets.values(critics.parameters().detach(), batch.seen, action);
        const auto density = said.log_density(action, batch.seen.present);
        const auto loss = (config.alpha * density - at::minimum(first, second)).mean();
        actor.step(torch::autograd::grad({loss}, {leaf})[0], config.actor_lr);
    }
};

residual_sac::residual_sac(const residual_sac_config& config, const at::Tensor& actor) {
    check(config);
    impl_ = std::make_unique<impl>(config, actor);
    require(impl_->actor.parameters().numel() == impl_->nets.actor_size(), "sac on sets: an actor of other nets");
}
residual_sac::~residual_sac() = default;

void residual_sac::remember(const set_transition& value) {
    require(std::isfinite(value.reward), "sac on sets: a reward that is not finite");
    auto& my = *impl_;
    const auto row = my.taken++ % my.config.replay;
    put(my.seen, row, value.seen);
    put(my.next, row, value.next);
    put(my.raw, row, value.raw);
    my.reward[row].fill_(value.reward);
    my.goes_on[row].fill_(value.last ? 0 : 1);
}

void residual_sac::learn_from(const std::vector<set_episode>& round) {
    for (const auto& one : round)
        for (const auto& step : one) remember(step);
    learn(impl_->config.updates);
}

void residual_sac::learn(std::int64_t rounds) {
    auto& my = *impl_;
    if (my.taken < my.config.batch) return;
    const models::one_thread same_bits_everywhere;
    for (std::int64_t i = 0; i < rounds; ++i) {
        const auto batch = my.draw();
        my.update_critics(batch);
        my.update_actor(batch);
        my.targets = polyak(my.targets, my.critics.parameters(), my.config.tau);
    }
}

std::int64_t residual_sac::remembered() const {
    return impl_->held();
}
const set_networks& residual_sac::nets() const {
    return impl_->nets;
}
at::Tensor residual_sac::actor() const {
    return impl_->actor.parameters().clone();
}
at::Tensor residual_sac::critics() const {
    return impl_->critics.parameters().clone();
}

json residual_sac::save() const {
    auto& my = *impl_;
    json out = {{"actor", stored(my.actor.snapshot())},
                {"critics", stored(my.critics.snapshot())},
                {"targets", to_bytes(my.targets)},
                {"generator", to_bytes(my.generator.get_state())},
                {"taken", my.taken}};
    for (const auto& [name, all] : my.replayed()) out[name] = to_bytes(all->narrow(0, 0, my.held()));
    return out;
}

void residual_sac::load(const json& saved) {
    auto& my = *impl_;
    my.actor.restore(restored(saved.at("actor"), my.actor.parameters()));
    my.critics.restore(restored(saved.at("critics"), my.critics.parameters()));
    my.targets = tensor_from(saved.at("targets"), my.targets);
    my.generator.set_state(tensor_from(saved.at("generator"), my.generator.get_state()));
    my.taken = saved.at("taken").get<std::int64_t>();
    refuse_unless(my.taken >= 0,
                  "controller checkpoint: it counts below zero; it is damaged, resume from an older one");
    for (const auto& [name, all] : my.replayed()) {
        const auto rows = all->narrow(0, 0, my.held());
        rows.copy_(tensor_from(saved.at(name), rows));
    }
}

}  // namespace rldp::rl
