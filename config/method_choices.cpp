#include "config/method_choices.hpp"

#include "config/methods.hpp"

namespace rldp::config {

namespace {

double resolved(const scaled_default& value, const run_config& config) {
    return value.constant + value.per_unit_of_batch * static_cast<double>(config.train.expected_batch_size.value_or(
                                                          0));  // open: nobody asks yet
}

/// Whether nothing is asked for that a prepared policy has no use for.
bool leaves_room_for_a_policy(const run_config& config) {
    const auto& rl = config.rl;
    const auto& noise = config.noise;
    return !find_published_key(config) && !find_schedule_key(config) && !rl.interval && !rl.warmup && !rl.radius_scale &&
           !rl.rescale && noise.policy.value_or(policy_kind::fixed) == policy_kind::fixed &&
           noise.allocation.value_or(allocation::shares) == allocation::shares && noise.deck == noise_section{}.deck;
}

bool is_prepared(const run_config& config) {
    if (config.rl.state) return *config.rl.state == controller_kind::prepared;
    if (!find_method(config).steered() || config.privacy.semantics != semantics::sound) return false;
    return config.rl.controller || config.rl.online || leaves_room_for_a_policy(config);
}

using key_and_whether = std::pair<std::string_view, bool>;

template <std::size_t Count>
std::optional<std::string_view> first_given(const key_and_whether (&all)[Count]) {
    for (const auto& [name, given] : all)
        if (given) return name;
    return std::nullopt;
}

}  // namespace

std::optional<std::string_view> find_published_key(const run_config& config) {
    const auto &rl = config.rl, none = rl_section{};
    return first_given({{"rl.actions", rl.actions != none.actions},
                        {"rl.batch", rl.batch != none.batch},
                        {"rl.updates", rl.updates != none.updates},
                        {"rl.gamma", rl.gamma != none.gamma},
                        {"rl.alpha", rl.alpha != none.alpha},
                        {"rl.tau", rl.tau != none.tau},
                        {"rl.actor_lr", rl.actor_lr != none.actor_lr},
                        {"rl.critic_lr", rl.critic_lr != none.critic_lr},
                        {"rl.replay", rl.replay != none.replay},
                        {"rl.reward_floor", rl.reward_floor != none.reward_floor},
                        {"rl.clip_action", rl.clip_action != none.clip_action}});
}

std::optional<std::string_view> find_schedule_key(const run_config& config) {
    const auto &train = config.train, plain = train_section{};
    return first_given({{"train.schedule", train.schedule != plain.schedule},
                        {"train.warmup", train.warmup != plain.warmup},
                        {"train.final_lr", train.final_lr != plain.final_lr},
                        {"train.average", train.average != plain.average}});
}

method_choices resolve_choices(const run_config& config) {
    const auto& row = find_method(config);
    const bool sound = config.privacy.semantics == semantics::sound;
    const bool prepared = is_prepared(config);  // on runs of one noise level
    return {.prepared = prepared,
            .allocation = config.noise.allocation.value_or(prepared ? allocation::shares : allocation::proportional),
            .policy = sound ? config.noise.policy.value_or(prepared ? policy_kind::fixed : row.policy)
                            : policy_kind::published,
            .groups = config.clip.groups.value_or(row.default_groups()),
            .initial_radius = config.clip.initial.value_or(row.initial_radius),
            .statistics_share = config.noise.statistics_share.value_or(row.statistics_share),
            .radius_scale = config.rl.radius_scale.value_or(default_radius_scale(config.privacy.semantics)),
            .rescale = config.rl.rescale.value_or(sound),
            .schedule = config.train.schedule.value_or(
                !sound || row.kind == method_kind::hyfreedp ? rate_shape::constant : rate_shape::linear),
            .value_weight = config.train.value_weight.value_or(
                sound && config.data.narrative && config.public_data.used_for(public_use::warm_start) ? 3 : 1),
            .quantile = config.method.quantile.value_or(row.quantile.value_or(0)),
            .query_noise = config.method.query_noise.value_or(row.query_noise ? resolved(*row.query_noise, config) : 0),
            .stabiliser = config.method.stabiliser.value_or(row.stabiliser.value_or(0)),
            .rank = config.method.rank.value_or(row.rank.value_or(0))};
}

}  // namespace rldp::config
