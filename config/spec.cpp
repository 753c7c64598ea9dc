#include "config/spec.hpp"

#include <algorithm>
#include <utility>

#include "config/methods.hpp"
#include "config/open_keys.hpp"

namespace rldp::config {

namespace {

privacy_spec resolve_privacy(const run_config& config, std::int64_t population, const method_choices& choices) {
    const auto& given = config.privacy;
    return {.epsilon_budget = given.epsilon,
            .delta = given.delta,
            .accountant = given.accountant,
            .semantics = given.semantics,
            .unit = given.unit,
            .population = population,
            .pad_batches = given.pad_batches,
            .acknowledge_no_guarantee = given.acknowledge_no_guarantee,
            .accept_large_delta = given.accept_large_delta,
            .book = given.book.value_or(std::string(no_book)),
            .policy = choices.policy,
            .deck = config.noise.deck,
            .bands = config.noise.bands.value_or(1),  // open in a run of an earlier version, which knew no other
            .runs = given.runs,
            .insecure_reproducible = config.noise.insecure_reproducible};
}

method_spec resolve_method(const run_config& config, const method_choices& choices) {
    return {.kind = find_method(config).kind,
            .name = find_method(config).name,
            .allocation = choices.allocation,
            .statistics_share = choices.statistics_share,
            .quantile = choices.quantile,
            .query_noise = choices.query_noise,
            .stabiliser = choices.stabiliser,
            .rank = choices.rank};
}

train_spec resolve_training(const run_config& config, std::int64_t population, const method_choices& choices) {
    const auto& given = config.train;
    train_spec out{.steps = planned_steps(config, population),
                   .expected_batch_size = read_batch_size(config),
                   .micro_batch = read_micro_batch(config),
                   .optimizer = given.optimizer,
                   .lr = finds_its_rate(given.optimizer) ? 1 : chosen(given.lr, "train.lr"),
                   .schedule = choices.schedule,
                   .final_lr = given.final_lr,
                   .average = given.average,
                   .average_window = given.average_window,
                   .public_steps = config.public_data.steps,
                   .eval_every = chosen(given.eval_every, "train.eval_every"),
                   .looks = config.eval.looks_made()};
    const auto& lessons = config.public_data;
    if (finds_its_rate(given.optimizer) && lessons.trained_on()) chosen(lessons.lr, "public.lr");
    out.public_lr = lessons.lr.value_or(out.lr);
    if (!choices.prepared) out.warmup = chosen(given.warmup, "train.warmup");
    constexpr std::int64_t parts = 5;
    out.decay = given.decay.value_or(
        std::clamp<std::int64_t>(out.steps / parts, 1, std::max<std::int64_t>(1, out.steps - out.warmup)));
    if (out.looks > 0) out.look_clip = chosen(config.eval.clip, "eval.clip");
    return out;
}

controller_spec resolve_controller(const run_config& config, const method_choices& choices) {
    const auto& given = config.rl;
    return {.kind = find_controller(config),
            .interval = chosen(given.interval, "rl.interval"),
            .warmup = chosen(given.warmup, "rl.warmup"),
            .radius_scale = choices.radius_scale,
            .rescale = choices.rescale,
            .file = given.controller,
            .signer = given.signer,
            .online = given.online,
            .mode = given.policy.value_or(controller_mode::learned),
            .actions = given.actions,
            .clip_action = given.clip_action,
            .batch = given.batch,
            .updates = given.updates,
            .replay = given.replay,
            .gamma = given.gamma,
            .alpha = given.alpha,
            .tau = given.tau,
            .actor_lr = given.actor_lr,
            .critic_lr = given.critic_lr,
            .reward_floor = given.reward_floor};
}

}  // namespace

bool reading_spec::uses_public(public_use what) const {
    return std::find(public_uses.begin(), public_uses.end(), what) != public_uses.end();
}

reading_spec to_reading_spec(const run_config& config) {
    const bool grouped = config.privacy.unit_is_group, has_public = config.public_data.path.has_value();
    auto lora = config.lora;
    if (!lora.targets && config.privacy.semantics == semantics::as_published) lora.targets = {"q", "v"};
    return {.model = config.model,
            .device = config.device,
            .lora = std::move(lora),
            .parameters = config.train.parameters,
            .seed = config.seed,
            .data = config.data,
            .group = grouped ? std::optional(config.privacy.unit) : std::nullopt,
            .records_per_unit = grouped ? config.privacy.max_records_per_unit : 1,
            .declared_population = config.privacy.population,
            .public_path = config.public_data.path,
            .public_uses = has_public ? config.public_data.use : std::vector<public_use>{},
            .value_weight = resolve_choices(config).value_weight,
            .target = config.eval.target,
            .classes = config.eval.classes,
            .publish = config.eval.publish,
            .eval_records = config.train.eval_records.value_or(most_eval_records(config)),
            .audit = config.audit};
}

clip_spec to_clip_spec(const run_config& config) {
    const auto choices = resolve_choices(config);
    return {choices.groups, choices.initial_radius, config.clip.min, config.clip.max};
}

run_spec to_spec(const run_config& config, std::int64_t population) {
    const auto choices = resolve_choices(config);
    chosen(config.train.eval_records, "train.eval_records");
    run_spec out;
    static_cast<reading_spec&>(out) = to_reading_spec(config);
    out.config = config;
    out.privacy = resolve_privacy(config, population, choices);
    out.clip = to_clip_spec(config);
    out.method = resolve_method(config, choices);
    out.train = resolve_training(config, population, choices);
    out.controller = resolve_controller(config, choices);
    out.monitor = config.monitor;
    out.run = config.run;
    return out;
}

}  // namespace rldp::config
