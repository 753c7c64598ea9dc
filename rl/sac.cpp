#include "rl/sac.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "models/adamw.hpp"
#include "models/thread_count.hpp"
#include "rl/networks.hpp"

namespace rldp::rl {
namespace {

using nlohmann::json;

void check(const sac_config& c) {
    for (const auto size : {c.state_size, c.action_size, c.batch, c.updates, c.replay, c.hidden})
        require(size >= 1, "sac: sizes are at least 1");
    require(c.replay >= c.batch, "sac: the replay holds less than a batch");
    require(std::isfinite(c.alpha) && c.alpha >= 0, "sac: the temperature alpha is finite and not negative");
    for (const double part : {c.gamma, c.tau, c.actor_lr, c.critic_lr})
        require(part >= 0 && part <= 1, "sac: gamma, tau and learning rates lie in [0, 1]");
}

bool fits(std::span<const double> values, std::int64_t size) {
    return std::ssize(values) == size &&
           std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

at::Tensor row(std::span<const double> values) {
    return at::tensor(at::ArrayRef<double>(values.data(), values.size()), at::kDouble).to(at::kFloat);
}

}  // namespace

// Targets are read on the current encoder's features without gradient, as published: only the critics have target
// copies.
struct sac::impl {
    sac_config config;
    networks nets;
    // Own generator: initialisation, sampling and minibatches touch no other code's random numbers, nor it theirs.
    at::Generator generator;
    models::adamw critics, heads;
    at::Tensor targets;  // twin critics only
    /// Transitions as the nets take them: state, action, reward, next state.
    std::deque<std::vector<float>> replay;
    std::int64_t rounds = 0;

    struct minibatch {
        at::Tensor state, action, reward, next_state;
    };

    explicit impl(const sac_config& c)
        : config(c),
          nets(c.state_size, c.action_size, c.hidden),
          generator(at::detail::createCPUGenerator(static_cast<std::uint64_t>(c.seed))),
          critics(nets.initial_critics(generator)),
          heads(nets.initial_heads(generator)),
          targets(nets.twin_part(critics.parameters()).clone()) {}

    std::int64_t width() const { return 2 * config.state_size + config.action_size + 1; }

    /// [count, width], of the i-th row `which(i)` of the replay.
    template <class Which>
    at::Tensor rows(std::int64_t count, Which which) const {
        auto out = at::empty({count, width()}, at::kFloat);
        auto* to = out.data_ptr<float>();
        for (std::int64_t i = 0; i < count; ++i) {
            const auto& one = replay[static_cast<std::size_t>(which(i))];
            to = std::copy(one.begin(), one.end(), to);
        }
        return out;
    }

    minibatch draw() {
        const auto n = static_cast<std::int64_t>(replay.size());
        const auto chosen = at::randperm(n, generator, at::TensorOptions(at::kLong)).narrow(0, 0, config.batch);
        const auto parts = rows(config.batch, [&](std::int64_t i) {
                               return chosen[i].item<std::int64_t>();
                           }).split_with_sizes({config.state_size, config.action_size, 1, config.state_size}, 1);
        return {parts[0].contiguous(), parts[1].contiguous(), parts[2].flatten().contiguous(), parts[3].contiguous()};
    }

    // y = r + γ·(min_k Q̄_k(z', a') − α·log π(a'|z')), a' from the current policy
    at::Tensor soft_bellman_target(const minibatch& batch) {
        const at::NoGradGuard no_gradient;
        const auto features = nets.features(nets.encoder_part(critics.parameters()), batch.next_state);
        const auto policy = nets.policy(heads.parameters(), features);
        const auto action = policy.sample(generator);
        const auto [first, second] = nets.values(targets, features, action);
        return batch.reward + config.gamma * (at::minimum(first, second) - config.alpha * policy.log_density(action));
    }

    void update_critics(const minibatch& batch) {
        const auto target = soft_bellman_target(batch);
        const auto leaf = critics.parameters().detach().requires_grad_();
        const auto features = nets.features(nets.encoder_part(leaf), batch.state);
        const auto [first, second] = nets.values(nets.twin_part(leaf), features, batch.action);
        const auto loss = at::huber_loss(first, target) + at::huber_loss(second, target);
        critics.step(torch::autograd::grad({loss}, {leaf})[0], config.critic_lr);
    }

    // Actions are resampled by reparameterisation; at the replayed actions, as printed in the publication, the gradient
    // of Q would not reach the policy. Stop-gradient at the features: the critics train the encoder.
    void update_actor(const minibatch& batch) {
        const auto online = critics.parameters().detach();
        const auto features = nets.features(nets.encoder_part(online), batch.state);
        const auto leaf = heads.parameters().detach().requires_grad_();
        const auto policy = nets.policy(leaf, features);
        const auto action = policy.sample(generator);
        const auto [first, second] = nets.values(nets.twin_part(online), features, action);
        const auto loss = (config.alpha * policy.log_density(action) - at::minimum(first, second)).mean();
        heads.step(torch::autograd::grad({loss}, {leaf})[0], config.actor_lr);
    }

    void round() {
        const auto batch = draw();
        update_critics(batch);
        update_actor(batch);
        targets = polyak(targets, nets.twin_part(critics.parameters()), config.tau);
        ++rounds;
    }
};

sac::sac(const sac_config& config) {
    check(config);
    impl_ = std::make_unique<impl>(config);
}
sac::~sac() = default;
sac::sac(sac&&) noexcept = default;

std::vector<double> sac::act(std::span<const double> state) {
    require(fits(state, impl_->config.state_size),
            "sac: a state of the wrong size or with a number that is not finite");
    const at::NoGradGuard no_gradient;
    const models::one_thread same_bits_everywhere;
    auto& my = *impl_;
    const auto features = my.nets.features(my.nets.encoder_part(my.critics.parameters()), row(state).unsqueeze(0));
    const auto action = my.nets.policy(my.heads.parameters(), features).sample(my.generator).to(at::kDouble);
    const auto* begin = action.data_ptr<double>();
    std::vector<double> out(begin, begin + my.config.action_size);
    if (!fits(out, my.config.action_size))  // the learning rates are the user's
        throw error(errc::failed, "controller: its networks have diverged; lower rl.actor_lr and rl.critic_lr");
    return out;
}

void sac::remember(const transition& value) {
    const auto& config = impl_->config;
    require(fits(value.state, config.state_size) && fits(value.next_state, config.state_size) &&
                fits(value.action, config.action_size) && std::isfinite(value.reward),
            "sac: a transition of the wrong size or with a number that is not finite");
    auto& replay = impl_->replay;
    if (std::ssize(replay) == config.replay) replay.pop_front();
    auto& kept = replay.emplace_back();
    kept.reserve(static_cast<std::size_t>(impl_->width()));
    for (const auto* part : {&value.state, &value.action}) kept.insert(kept.end(), part->begin(), part->end());
    kept.push_back(static_cast<float>(value.reward));
    kept.insert(kept.end(), value.next_state.begin(), value.next_state.end());
}

void sac::learn() {
    if (remembered() < impl_->config.batch) return;
    const models::one_thread same_bits_everywhere;
    for (std::int64_t i = 0; i < impl_->config.updates; ++i) impl_->round();
}

std::int64_t sac::remembered() const {
    return std::ssize(impl_->replay);
}
std::int64_t sac::rounds() const {
    return impl_->rounds;
}

std::string sac::save() const {
    const auto& my = *impl_;
    json content = {{"critics", stored(my.critics.snapshot())},
                    {"heads", stored(my.heads.snapshot())},
                    {"targets", to_bytes(my.targets)},
                    {"generator", to_bytes(my.generator.get_state())},
                    {"rounds", my.rounds}};
    content["replay"] = to_bytes(my.rows(remembered(), [](std::int64_t i) { return i; }));
    std::string out;
    json::to_cbor(content, out);
    return out;
}

void sac::load(const std::string& bytes) try {
    const auto content = json::from_cbor(bytes);
    impl fresh(impl_->config);
    fresh.critics.restore(restored(content.at("critics"), fresh.critics.parameters()));
    fresh.heads.restore(restored(content.at("heads"), fresh.heads.parameters()));
    fresh.targets = tensor_from(content.at("targets"), fresh.targets);
    fresh.generator.set_state(tensor_from(content.at("generator"), fresh.generator.get_state()));
    fresh.rounds = content.at("rounds").get<std::int64_t>();
    const auto& replay = content.at("replay").get_binary();
    const auto width = static_cast<std::size_t>(fresh.width());
    const auto count = static_cast<std::int64_t>(replay.size() / (width * sizeof(float)));
    const auto rows = tensor_from(content.at("replay"), at::empty({count, fresh.width()}, at::kFloat));
    const auto* from = rows.data_ptr<float>();
    for (std::int64_t i = 0; i < count; ++i, from += width) fresh.replay.emplace_back(from, from + width);
    *impl_ = std::move(fresh);
} catch (const json::exception& reason) {
    refuse(fmt::format("controller checkpoint: {}; it is damaged, resume from an older one", reason.what()));
}

}  // namespace rldp::rl
