#include "actors/run/steering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/error.hpp"
#include "config/method_choices.hpp"
#include "config/methods.hpp"
#include "config/open_keys.hpp"
#include "rl/prepare/prepared_controller.hpp"
#include "rl/published_controller.hpp"

namespace rldp::actors {

namespace {

/// What remains of a prepared policy's schedules: its own, or where it did not pass its gate the best fixed one.
const rl::schedule& schedule_of(const rl::prepared_policy& policy) {
    return policy.parts().passed ? policy.parts().fixed : policy.parts().best_fixed;
}

void check_signature(const rl::prepared_policy& policy, const std::string& path, const std::string& file) {
    const auto wanted = privacy::verifying_key::load(file);
    const auto signer = policy.signer();
    if (!signer)
        refuse(
            fmt::format("rl.controller: {} is not signed, and rl.signer demands {}'s signature; have it signed "
                        "(rldp sign-policy), or leave rl.signer out",
                        path, file));
    if (*signer != wanted)
        refuse(fmt::format("rl.controller: {} is signed by key {}, and rl.signer demands {}, key {}", path,
                           signer->fingerprint(), file, wanted.fingerprint()));
}

std::shared_ptr<rl::controller> published_controller_of(const config::run_config& config, const run_plan& plan) {
    rl::controller_config out{.actions = config.rl.actions,
                              .policy = config.rl.policy,
                              .groups = plan.groups.size(),
                              .clip_min = config.clip.min,
                              .clip_max = config.clip.max,
                              .clip_action = config.rl.clip_action,
                              .initial_noise_multiplier = plan.noise_multiplier,
                              .epsilon = config.privacy.epsilon,
                              .reward_floor = config.rl.reward_floor,
                              .learner = {}};
    out.learner.batch = config.rl.batch;
    out.learner.updates = config.rl.updates;
    out.learner.replay = config.rl.replay;
    out.learner.gamma = config.rl.gamma;
    out.learner.alpha = config.rl.alpha;
    out.learner.tau = config.rl.tau;
    out.learner.actor_lr = config.rl.actor_lr;
    out.learner.critic_lr = config.rl.critic_lr;
    out.learner.seed = config.seed;
    return std::make_shared<rl::published_controller>(out);
}

}  // namespace

std::shared_ptr<const rl::prepared_policy> prepared_policy_of(const config::run_config& config) {
    if (!config::choices_of(config).prepared) return {};
    const auto path = config.rl.controller.value_or("the shipped policy");
    auto out = std::make_shared<const rl::prepared_policy>(config.rl.controller ? rl::prepared_policy::load(path)
                                                                                : rl::prepared_policy::shipped());
    const auto& parts = out->parts();
    if (config.rl.signer) check_signature(*out, path, *config.rl.signer);
    if (parts.probed)
        refuse(
            fmt::format("rl.controller: {} looks at the loss on public records, which runs don't show; name a policy "
                        "that was prepared without",
                        path));
    if (config.rl.online && !parts.passed)
        refuse(fmt::format(
            "rl.online: {} did not pass its gate and steers nothing, so that nothing could be learned; name "
            "one that did, or leave rl.online out",
            path));
    if (config.rl.interval && parts.interval != *config.rl.interval)
        refuse(fmt::format("rl.interval is {}, but rl.controller {} decides after every {} steps; give {}",
                           *config.rl.interval, path, parts.interval, parts.interval));
    return out;
}

std::shared_ptr<rl::controller> controller_of(const config::run_config& config, const run_plan& plan) {
    if (!config::method_of(config).steered()) return {};
    if (!plan.policy) return published_controller_of(config, plan);
    const auto batch = static_cast<double>(config::batch_of(config));
    return std::make_shared<rl::prepared_controller>(
        plan.policy,
        rl::run_terms{.adapters = plan.groups.size(),
                      .numbers = static_cast<double>(plan.trainable_parameters),
                      .noise_multiplier = plan.noise_multiplier,
                      .batch = batch,
                      .epochs = plan.sample_rate * static_cast<double>(plan.steps),
                      .online = config.rl.online,
                      .seed = static_cast<std::uint64_t>(config.seed)},
        rl::control_from(config.rl.policy));
}

rl::rate_schedule rates_of(const config::run_config& config, const run_plan& plan) {
    const double peak = config::chosen(config.train.lr, "train.lr");
    if (plan.policy) return rl::rates_of(schedule_of(*plan.policy), peak, plan.steps);
    const auto warmup = config::chosen(config.train.warmup, "train.warmup");
    return {.shape = rl::schedule_from(config::choices_of(config).schedule),
            .peak = peak,
            .last = config.train.final_lr,
            .steps = plan.steps,
            .warmup = warmup,
            .decay = config.train.decay.value_or(
                std::clamp<std::int64_t>(plan.steps / 5, 1, std::max<std::int64_t>(1, plan.steps - warmup)))};
}

rl::average_config average_of(const config::run_config& config, const run_plan& plan) {
    if (plan.policy)
        return {.how = rl::average_config::form::tail, .window = schedule_of(*plan.policy).tail, .steps = plan.steps};
    return {.how = rl::average_from(config.train.average), .window = config.train.average_window, .steps = plan.steps};
}

}  // namespace rldp::actors
