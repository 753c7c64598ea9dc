#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "privacy/mechanism/noise.hpp"
#include "rl/prepared/prepared_controller.hpp"
#include "rl/published_controller.hpp"
#include "run/factories.hpp"
#include "run/public_training.hpp"
#include "run/train/steering.hpp"

namespace rldp::actors {

namespace {

/// What clip.groups "adapters" clips on its own: an adapter, or the whole tensors of one module.
struct clipped_module {
    std::string name;
    std::int64_t size;
};

std::vector<clipped_module> list_modules(const models::lora_layout& layout) {
    std::vector<clipped_module> out;
    for (const auto& pair : layout.pairs) out.push_back({pair.module, pair.size});
    for (const auto& tensor : layout.tensors) {
        if (out.empty() || out.back().name != tensor.module) out.push_back({tensor.module, 0});
        out.back().size += tensor.size;
    }
    return out;
}

/// Half of what a uniform guess over the vocabulary loses: public, and near what a pretrained model starts at.
double estimate_initial_loss(const models::model_config& model) {
    return 0.5 * std::log(static_cast<double>(model.vocab));
}

rl::steered_config make_steered_config(const config::run_spec& spec, const run_model& model) {
    return {.segments = make_segments(spec.clip.groups, model.layout),
            .expected_batch = static_cast<double>(spec.train.expected_batch_size),
            .initial_radius = spec.clip.initial,
            .clip_min = spec.clip.min,
            .clip_max = spec.clip.max,
            .radius_scale = spec.controller.radius_scale,
            .rescale = spec.controller.rescale,
            .initial_loss = estimate_initial_loss(model.base->config()),
            .statistics_share = spec.privacy.semantics == semantics::as_published ? 0 : spec.method.statistics_share,
            .warmup = spec.controller.warmup};
}

privacy::method_config make_method_config(const config::run_spec& spec, const models::model_config& model,
                                          const models::lora_layout& layout, std::size_t groups) {
    privacy::method_config out{.name = spec.method.name,
                               .pair_sizes = {},
                               .groups = groups,
                               .expected_batch = static_cast<double>(spec.train.expected_batch_size),
                               .initial_radius = spec.clip.initial,
                               .clip_min = spec.clip.min,
                               .clip_max = spec.clip.max,
                               .quantile = spec.method.quantile,
                               .query_noise = spec.method.query_noise,
                               .stabiliser = spec.method.stabiliser,
                               .rank = spec.method.rank,
                               .statistics_share = spec.method.statistics_share,
                               .warmup = spec.train.warmup,
                               .initial_loss = estimate_initial_loss(model),
                               .rounding_margin = compute_rounding_margin(spec),
                               .step_variance = privacy::compute_step_variance(
                                   privacy::make_bands(spec.privacy.bands, spec.train.steps), spec.train.steps)};
    for (const auto& one : list_modules(layout)) out.pair_sizes.push_back(one.size);
    return out;
}

}  // namespace

std::vector<std::string> group_names(clip_grouping groups, const models::lora_layout& layout) {
    if (groups == clip_grouping::flat) return {layout.trains_base() ? "all parameters" : "all adapters"};
    if (groups == clip_grouping::factors) return {"all A", "all B"};
    std::vector<std::string> names;
    for (const auto& one : list_modules(layout)) names.push_back(one.name);
    return names;
}

std::vector<privacy::segment> make_segments(clip_grouping groups, const models::lora_layout& layout) {
    if (groups == clip_grouping::flat && !layout.trains_base()) return {{layout.dimension, 0}};
    std::vector<privacy::segment> out;
    if (groups == clip_grouping::flat) {  // of so many numbers the noise is made in pieces, on all threads
        for (const auto& one : list_modules(layout)) out.push_back({one.size, 0});
        return out;
    }
    if (groups == clip_grouping::factors) {
        for (const auto& pair : layout.pairs) {
            out.push_back({pair.a_size, 0});
            out.push_back({pair.size - pair.a_size, 1});
        }
        return out;
    }
    for (const auto& one : list_modules(layout)) out.push_back({one.size, out.size()});
    return out;
}

std::unique_ptr<privacy::method> make_run_method(const config::run_spec& spec, const run_plan& plan,
                                                 const run_model& model) {
    if (!spec.method.steered())
        return privacy::make_method(make_method_config(spec, model.base->config(), model.layout, plan.groups.size()));
    auto how = make_steered_config(spec, model);
    how.public_radii = model.public_norms;
    return std::make_unique<rl::steered>(how);
}

void check_noise_left(const config::run_spec& spec, const models::model_config& model,
                      const models::lora_layout& layout, const run_plan& plan) {
    if (spec.method.steered()) return;  // its share is a part of 1/z², whatever z is
    const auto terms = privacy::make_method(make_method_config(spec, model, layout, plan.groups.size()))
                           ->next_terms(plan.noise_multiplier);
    privacy::gradient_multiplier(plan.noise_multiplier, terms.measurement_multiplier);
}

namespace {

/// Which of a prepared policy's schedules the run has, its own or, where nothing steers, the best fixed one, settled
/// for this plan.
rl::rate_line choose_line(const config::run_spec& spec, const run_plan& plan) {
    const auto& parts = plan.policy->parts();
    const bool steered = spec.controller.mode != controller_mode::frozen;
    return (steered ? parts.fixed : parts.best_fixed).settle(describe_plan(spec, plan));
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
                                                       const std::optional<std::string>& signer) {
    const auto path = file.value_or("the shipped policy");
    auto out = std::make_shared<const rl::prepared_policy>(file ? rl::prepared_policy::load(path)
                                                                : rl::prepared_policy::shipped());
    if (signer) check_signature(*out, path, *signer);
    return out;
}

rl::known_plan describe_plan(const config::run_spec& spec, const run_plan& plan) {
    return {.steps = plan.steps,
            .noise = rl::compute_noise_level(plan.noise_multiplier, static_cast<double>(plan.trainable_parameters),
                                             static_cast<double>(spec.train.expected_batch_size)),
            .adapters = plan.groups.size(),
            .bands = plan.bands};
}

std::shared_ptr<rl::controller> make_run_controller(const config::run_spec& spec, const run_plan& plan) {
    if (!spec.method.steered()) return {};
    if (!plan.policy) return make_published_controller(spec, plan);
    return std::make_shared<rl::prepared_controller>(
        plan.policy,
        rl::run_terms{.plan = describe_plan(spec, plan),
                      .noise_multiplier = plan.noise_multiplier,
                      .epochs = plan.sample_rate * static_cast<double>(plan.steps),
                      .online = spec.controller.online,
                      .seed = static_cast<std::uint64_t>(spec.seed)},
        spec.controller.mode);
}

rl::rate_schedule make_rate_schedule(const config::run_spec& spec, const run_plan& plan) {
    const auto& how = spec.train;
    if (plan.policy) return rl::make_rate_schedule(choose_line(spec, plan), how.lr, plan.steps);
    return {.shape = how.schedule,
            .peak = how.lr,
            .last = how.final_lr,
            .steps = plan.steps,
            .warmup = how.warmup,
            .decay = how.decay};
}

rl::average_config make_average_config(const config::run_spec& spec, const run_plan& plan) {
    if (plan.policy) return {.how = averaging::tail, .window = choose_line(spec, plan).tail, .steps = plan.steps};
    return {.how = spec.train.average, .window = spec.train.average_window, .steps = plan.steps};
}

}  // namespace rldp::actors
