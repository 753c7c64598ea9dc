#include "actors/run/steering.hpp"

#include <fmt/format.h>

#include "config/base/error.hpp"
#include "rl/prepare/prepared_controller.hpp"
#include "rl/published_controller.hpp"

namespace rldp::actors {

namespace {

/// What remains of a prepared policy's schedules: its own, or where it did not pass its gate the best fixed one.
const rl::schedule& choose_schedule(const rl::prepared_policy& policy) {
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

std::shared_ptr<rl::controller> make_published_controller(const config::run_spec& spec, const run_plan& plan) {
    const auto& how = spec.controller;
    rl::controller_config out{.actions = how.actions,
                              .mode = how.mode,
                              .groups = plan.groups.size(),
                              .clip_min = spec.clip.min,
                              .clip_max = spec.clip.max,
                              .clip_action = how.clip_action,
                              .initial_noise_multiplier = plan.noise_multiplier,
                              .epsilon_budget = spec.privacy.epsilon_budget,
                              .reward_floor = how.reward_floor,
                              .learner = {}};
    out.learner.batch = how.batch;
    out.learner.updates = how.updates;
    out.learner.replay = how.replay;
    out.learner.gamma = how.gamma;
    out.learner.alpha = how.alpha;
    out.learner.tau = how.tau;
    out.learner.actor_lr = how.actor_lr;
    out.learner.critic_lr = how.critic_lr;
    out.learner.seed = spec.seed;
    return std::make_shared<rl::published_controller>(out);
}

}  // namespace

std::shared_ptr<const rl::prepared_policy> load_policy(const std::optional<std::string>& file,
                                                       const std::optional<std::string>& signer, bool online) {
    const auto path = file.value_or("the shipped policy");
    auto out = std::make_shared<const rl::prepared_policy>(file ? rl::prepared_policy::load(path)
                                                                : rl::prepared_policy::shipped());
    const auto& parts = out->parts();
    if (signer) check_signature(*out, path, *signer);
    if (parts.probed)
        refuse(
            fmt::format("rl.controller: {} looks at the loss on public records, which runs don't show; name a policy "
                        "that was prepared without",
                        path));
    if (online && !parts.passed)
        refuse(fmt::format(
            "rl.online: {} did not pass its gate and steers nothing, so that nothing could be learned; name "
            "one that did, or leave rl.online out",
            path));
    return out;
}

std::shared_ptr<rl::controller> make_run_controller(const config::run_spec& spec, const run_plan& plan) {
    if (!spec.method.steered()) return {};
    if (!plan.policy) return make_published_controller(spec, plan);
    const auto batch = static_cast<double>(spec.train.expected_batch_size);
    return std::make_shared<rl::prepared_controller>(
        plan.policy,
        rl::run_terms{.adapters = plan.groups.size(),
                      .numbers = static_cast<double>(plan.trainable_parameters),
                      .noise_multiplier = plan.noise_multiplier,
                      .batch = batch,
                      .epochs = plan.sample_rate * static_cast<double>(plan.steps),
                      .online = spec.controller.online,
                      .seed = static_cast<std::uint64_t>(spec.seed)},
        spec.controller.mode);
}

rl::rate_schedule make_rate_schedule(const config::run_spec& spec, const run_plan& plan) {
    const auto& how = spec.train;
    if (plan.policy) return rl::make_rate_schedule(choose_schedule(*plan.policy), how.lr, plan.steps);
    return {.shape = how.schedule,
            .peak = how.lr,
            .last = how.final_lr,
            .steps = plan.steps,
            .warmup = how.warmup,
            .decay = how.decay};
}

rl::average_config make_average_config(const config::run_spec& spec, const run_plan& plan) {
    if (plan.policy) return {.how = averaging::tail, .window = choose_schedule(*plan.policy).tail, .steps = plan.steps};
    return {.how = spec.train.average, .window = spec.train.average_window, .steps = plan.steps};
}

}  // namespace rldp::actors
