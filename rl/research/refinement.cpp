#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "models/adamw.hpp"
#include "models/thread_count.hpp"
#include "rl/prepared/splitmix.hpp"
#include "rl/research/practice.hpp"
#include "rl/research/refinement.hpp"

namespace rldp::rl {
namespace {

void check(const residual_ppo_config& c) {
    for (const auto size : {c.hidden, c.batch, c.passes, c.most_adapters})
        require(size >= 1, "ppo on sets: sizes are at least 1");
    for (const double part : {c.clip, c.lambda, c.most_divergence, c.actor_lr, c.critic_lr})
        require(part >= 0 && part <= 1, "ppo on sets: clip, lambda, the divergence and learning rates lie in [0, 1]");
    require(c.alpha >= 0, "ppo on sets: the temperature is not negative");
}

// A round, step by step.
struct steps_seen {
    adapter_set seen;
    set_action raw;
    at::Tensor density;     // [steps] log, under the actor that played
    at::Tensor advantages;  // [steps]
    at::Tensor returns;     // [steps]

    steps_seen rows(const at::Tensor& which) const {
        const auto of = [&](const at::Tensor& all) { return all.index_select(0, which); };
        return {{of(seen.adapters), of(seen.present), of(seen.global)},
                {of(raw.global), of(raw.adapters)},
                of(density),
                of(advantages),
                of(returns)};
    }
};

}  // namespace

std::vector<double> generalised_advantages(std::span<const double> rewards, std::span<const double> values,
                                           double lambda) {
    require(rewards.size() == values.size(), "advantages: a value for each reward");
    std::vector<double> out(rewards.size());
    double following = 0, next_value = 0;
    for (auto t = rewards.size(); t-- > 0;) {
        following = rewards[t] + next_value - values[t] + lambda * following;
        next_value = values[t];
        out[t] = following;
    }
    return out;
}

struct residual_ppo::impl {
    residual_ppo_config config;
    set_networks nets;
    at::Generator generator;
    models::adamw actor, critic;

    explicit impl(const residual_ppo_config& c)
        : config(c),
          nets(c.hidden),
          generator(at::detail::createCPUGenerator(c.seed)),
          actor(nets.initial_actor(generator)),
          critic(nets.initial_critics(generator)) {}

    // Of states: a critic of actions that is always shown the one that adds nothing. The second twin has no part.
    at::Tensor values(const at::Tensor& parameters, const adapter_set& seen) const {
        return nets.values(parameters, seen, empty_actions(seen.present.size(0), seen.present.size(1)))[0];
    }

    steps_seen gathered(const std::vector<set_episode>& round) const {
        const at::NoGradGuard no_gradient;
        std::int64_t count = 0;
        for (const auto& one : round) count += std::ssize(one);
        require(count > 0, "ppo on sets: a round needs steps");
        steps_seen out{empty_sets(count, config.most_adapters), empty_actions(count, config.most_adapters), {}, {}, {}};
        std::int64_t row = 0;
        for (const auto& one : round)
            for (const auto& step : one) {
                require(std::isfinite(step.reward), "ppo on sets: a reward that is not finite");
                put(out.seen, row, step.seen);
                put(out.raw, row++, step.raw);
            }
        out.density = nets.policy(actor.parameters(), out.seen).joint_log_density(out.raw, out.seen.present);
        const auto values_now = values(critic.parameters(), out.seen).to(at::kDouble).contiguous();
        std::vector<double> advantages;
        std::span<const double> left(values_now.data_ptr<double>(), static_cast<std::size_t>(count));
        for (const auto& one : round) {
            std::vector<double> rewards;
            rewards.reserve(one.size());
            for (const auto& step : one) rewards.push_back(step.reward);
            const auto found = generalised_advantages(rewards, left.first(one.size()), config.lambda);
            advantages.insert(advantages.end(), found.begin(), found.end());
            left = left.subspan(one.size());
        }
        const auto all = at::tensor(advantages, at::kDouble);
        out.returns = (all + values_now).to(at::kFloat);
        out.advantages = ((all - all.mean()) / (all.std(false) + 1e-8)).to(at::kFloat);
        return out;
    }

    // Of the policy from the one that played; (r − 1) − log r, r the ratio of densities, is never negative and has its
    // mean.
    double divergence(const steps_seen& all) const {
        const at::NoGradGuard no_gradient;
        const auto now = nets.policy(actor.parameters(), all.seen).joint_log_density(all.raw, all.seen.present);
        const auto log_ratio = now - all.density;
        return (log_ratio.expm1() - log_ratio).mean().item<double>();
    }

    void update_actor(const steps_seen& batch) {
        const auto leaf = actor.parameters().detach().requires_grad_();
        const auto said = nets.policy(leaf, batch.seen);
        const auto ratio = (said.joint_log_density(batch.raw, batch.seen.present) - batch.density).exp();
        const auto within = ratio.clamp(1 - config.clip, 1 + config.clip);
        const auto gain = at::minimum(ratio * batch.advantages, within * batch.advantages);
        const auto density = said.log_density(said.sample(generator), batch.seen.present);
        actor.step(torch::autograd::grad({(config.alpha * density - gain).mean()}, {leaf})[0], config.actor_lr);
    }

    void update_critic(const steps_seen& batch) {
        const auto leaf = critic.parameters().detach().requires_grad_();
        const auto loss = at::huber_loss(values(leaf, batch.seen), batch.returns);
        critic.step(torch::autograd::grad({loss}, {leaf})[0], config.critic_lr);
    }
};

residual_ppo::residual_ppo(const residual_ppo_config& config) {
    check(config);
    impl_ = std::make_unique<impl>(config);
}
residual_ppo::~residual_ppo() = default;

void residual_ppo::learn_from(const std::vector<set_episode>& round) {
    auto& my = *impl_;
    const models::one_thread same_bits_everywhere;
    const auto all = my.gathered(round);
    const auto count = all.density.size(0);
    for (std::int64_t pass = 0; pass < my.config.passes && my.divergence(all) < my.config.most_divergence; ++pass)
        for (const auto& which :
             at::randperm(count, my.generator, at::TensorOptions(at::kLong)).split(my.config.batch)) {
            const auto batch = all.rows(which);
            my.update_critic(batch);
            my.update_actor(batch);
        }
}

at::Tensor residual_ppo::actor() const {
    return impl_->actor.parameters().clone();
}
const set_networks& residual_ppo::nets() const {
    return impl_->nets;
}

namespace {

// What runs show under the rule and whatever may come to be added to it.
std::vector<policy_observation> collect_observations(task_list tasks, const schedule& fixed, const rule& how,
                                                     const comparison_seeds& with) {
    std::vector<std::vector<policy_observation>> each(tasks.size());
    for_each_index(tasks.size(), with.jobs, [&](std::size_t i) {
        splitmix random(with.seed, i);
        const auto run = tasks[i]->begin(fixed.settle(tasks[i]->plan()), random.next());
        while (!run->finished()) {
            each[i].push_back(run->look());
            const auto& seen = each[i].back();
            const auto nothing = neutral(seen.adapters.size());
            run->play(with_residual(how(seen), sampled({nothing, nothing}, random), 1));
        }
    });
    std::vector<policy_observation> out;
    for (auto& some : each) out.insert(out.end(), some.begin(), some.end());
    return out;
}

// One episode that explores, beside the rule's own.
set_episode explored(const task& of, const schedule& fixed, const rule& how, const frozen_normaliser& normalised,
                     const set_networks& nets, const at::Tensor& actor, std::uint64_t seed) {
    splitmix random(seed);
    const auto line = fixed.settle(of.plan());
    const auto run = of.begin(line, seed), alone = of.begin(line, seed);
    const auto lead = [&] { return alone->log_excess() - run->log_excess(); };
    set_episode out;
    while (!run->finished()) {
        const auto seen = run->look();
        set_transition one;
        one.seen = normalised(seen);
        one.raw = sampled(compute_raw_policy(nets, actor, one.seen), random);
        const double before = lead();
        alone->play(how(alone->look()));
        run->play(with_residual(how(seen), one.raw, 1));
        one.reward = lead() - before;
        one.next = normalised(run->look());
        one.last = run->finished();
        out.push_back(std::move(one));
    }
    return out;
}

std::unique_ptr<residual_learner> make_learner(const refinement_config& config) {
    if (const auto* ppo = std::get_if<residual_ppo_config>(&config.learner))
        return std::make_unique<residual_ppo>(*ppo);
    return std::make_unique<residual_sac>(std::get<residual_sac_config>(config.learner));
}

}  // namespace

refinement refine(task_list tasks, task_list validation, const schedule& fixed, const rule& how,
                  const refinement_config& config) {
    require(!tasks.empty() && config.episodes >= 1 && config.judged_every >= 1, "a refinement needs episodes");
    const auto seen = collect_observations(tasks, fixed, how, {.seed = config.seed, .jobs = config.jobs});
    refinement best;
    best.normaliser = frozen_normaliser::of(seen);
    auto normalised = seen;
    for (auto& one : normalised) one = best.normaliser(one);
    best.guard = residual_guard::of(normalised);

    const auto learner = make_learner(config);
    best.actor = learner->actor();
    best.hidden = learner->nets().hidden();
    const comparison_seeds judging = {.seed = ~config.seed, .jobs = config.jobs};
    const auto rules = final_losses(validation, {fixed, how}, judging);
    for (std::size_t round = 1; round <= config.rounds; ++round) {
        const auto actor = learner->actor();
        std::vector<set_episode> episodes(config.episodes);
        for_each_index(config.episodes, config.jobs, [&](std::size_t i) {
            const std::size_t number = (round - 1) * config.episodes + i;
            episodes[i] = explored(*tasks[number % tasks.size()], fixed, how, best.normaliser, learner->nets(), actor,
                                   splitmix(config.seed + 1, number).next());
        });
        learner->learn_from(episodes);
        if (round % config.judged_every != 0) continue;
        const auto candidate = learner->actor();
        const auto plays = [&](const policy_observation& now) {
            const auto here = best.normaliser(now);
            return with_residual(how(now), compute_raw_policy(learner->nets(), candidate, here).mean,
                                 best.guard.part(here));
        };
        const auto judged = compare(final_losses(validation, {fixed, plays}, judging), rules);
        best.curve.push_back(judged.mean);
        if (judged.least_gain() > std::max(0.0, best.judged.least_gain())) {
            best.actor = candidate;
            best.rounds = round;
            best.judged = judged;
        }
    }
    return best;
}

}  // namespace rldp::rl
