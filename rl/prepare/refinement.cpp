#include "rl/prepare/refinement.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "config/base/require.hpp"
#include "rl/prepare/parallel.hpp"
#include "rl/prepare/splitmix.hpp"

namespace rldp::rl {
namespace {

// What runs show under the rule and whatever may come to be added to it.
std::vector<policy_observation> collect_observations(task_list tasks, const schedule& fixed, const rule& how, const comparison_seeds& with) {
    std::vector<std::vector<policy_observation>> each(tasks.size());
    for_each_index(tasks.size(), with.jobs, [&](std::size_t i) {
        splitmix random(with.seed, i);
        const auto run = tasks[i]->begin(fixed, random.next());
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
    const auto run = of.begin(fixed, seed), alone = of.begin(fixed, seed);
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
            return with_residual(how(now), compute_raw_policy(learner->nets(), candidate, here).mean, best.guard.part(here));
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
