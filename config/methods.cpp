#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "config/methods.hpp"

namespace rldp::config {

const std::vector<method_row>& methods() {
    using kind = method_kind;
    using groups = grouping_rule;
    const auto of_batch = scaled_default{.per_unit_of_batch = 0.05, .words = "expected_batch_size/20"};
    const auto six = scaled_default{.constant = 6, .words = "6"};
    static const std::vector<method_row> rows = {
        {.kind = kind::rldp,
         .name = "rldp",
         .sentence = "a controller steers, by rl.state",
         .groups = groups::per_adapter,
         .initial_radius = 0.1,
         .policy = policy_kind::deck,
         .statistics_share = 0.02},
        {kind::fixed_radius, "static", "DP-SGD with one fixed radius and fixed noise", groups::any, 0.1},
        {.kind = kind::adaclip,
         .name = "adaclip",
         .sentence = "AdaCliP: noise shaped by estimated means and deviations of the coordinates",
         .groups = groups::whole,
         .initial_radius = 0.1,
         .adapters_only = true,
         .vectors = 6},
        {.kind = kind::autoclip_quantile,
         .name = "autoclip_quantile",
         .sentence = "the radius follows a private quantile of the gradient norms",
         .groups = groups::whole,
         .initial_radius = 0.1,
         .quantile = 0.5,
         .query_noise = of_batch},
        {.kind = kind::auto_s,
         .name = "auto_s",
         .sentence = "automatic clipping: every gradient is normalised",
         .groups = groups::any,
         .initial_radius = 1,
         .stabiliser = 0.01},
        {.kind = kind::dcsgd_p,
         .name = "dcsgd_p",
         .sentence = "the radius is a percentile of a private histogram of norms",
         .groups = groups::whole,
         .initial_radius = 1,
         .quantile = 0.3,
         .query_noise = six},
        {.kind = kind::dcsgd_e,
         .name = "dcsgd_e",
         .sentence = "the radius minimises the expected squared error by a private histogram of norms",
         .groups = groups::whole,
         .initial_radius = 1,
         .query_noise = six},
        {.kind = kind::geoclip,
         .name = "geoclip",
         .sentence = "clipping in a basis learnt from past releases, per pair",
         .groups = groups::whole,
         .initial_radius = 0.1,
         .rank = 8,
         .adapters_only = true,
         .vectors = 3},
        {.kind = kind::psac,
         .name = "psac",
         .sentence = "per-sample adaptive clipping: a weight that is not monotone in the norm",
         .groups = groups::any,
         .initial_radius = 1,
         .stabiliser = 0.01},
        {.kind = kind::dp_lora,
         .name = "dp_lora",
         .sentence = "DP-LoRA, centralised: A and B of all adapters clipped as two groups",
         .groups = groups::by_factor,
         .initial_radius = 0.1,
         .adapters_only = true},
        {.kind = kind::dp_lora_literal,
         .name = "dp_lora_literal",
         .sentence = "DP-LoRA as written: the mean of the batch is clipped",
         .groups = groups::by_factor,
         .initial_radius = 1,
         .adapters_only = true},
        {.kind = kind::dp_adambc,
         .name = "dp_adambc",
         .sentence = "DP-SGD whose Adam subtracts the noise from its second moment",
         .groups = groups::whole,
         .initial_radius = 0.1,
         .stabiliser = 1},
        {.kind = kind::scale_first,
         .name = "scale_first",
         .sentence = "scale, then privatise: gradients are divided by Adam's second moment before they are clipped",
         .groups = groups::whole,
         .initial_radius = 1,
         .stabiliser = 0.1,
         .adapters_only = true,
         .vectors = 3},
        {.kind = kind::hyfreedp,
         .name = "hyfreedp",
         .sentence = "HyFreeDP: every gradient is normalised, and privatised losses set the learning rate",
         .groups = groups::any,
         .initial_radius = 1,
         .statistics_share = 0.1,
         .stabiliser = 0.01,
         .vectors = 2},
    };
    return rows;
}

clip_grouping method_row::default_groups() const {
    switch (groups) {
        case grouping_rule::per_adapter:
            return clip_grouping::adapters;
        case grouping_rule::by_factor:
            return clip_grouping::factors;
        case grouping_rule::any:
        case grouping_rule::whole:
            return clip_grouping::flat;
    }
    bug("a method that clips no groups");
}

const method_row& method_named(const std::string& name) {
    const auto& rows = methods();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
    if (found == rows.end()) refuse(fmt::format("method.name: \"{}\" is unknown", name));
    return *found;
}

const method_row& find_method(const run_config& config) {
    const auto& row = method_named(config.method.name);
    return row.steered() && find_controller(config) == controller_kind::schedule ? method_named("static") : row;
}

namespace {

double resolved(const scaled_default& value, const run_config& config) {
    return value.constant + value.per_unit_of_batch * static_cast<double>(config.train.expected_batch_size.value_or(
                                                          0));  // open: nobody asks yet
}

/// Whether something is asked for that neither a prepared policy nor a schedule has a use for.
bool asks_for_the_published_controller(const run_config& config) {
    const auto& rl = config.rl;
    const auto& noise = config.noise;
    return find_published_key(config) || rl.interval || rl.warmup || rl.radius_scale || rl.rescale ||
           noise.policy.value_or(policy_kind::fixed) != policy_kind::fixed || noise.deck != noise_section{}.deck;
}

/// Whether nothing is asked for that a prepared policy has no use for.
bool leaves_room_for_a_policy(const run_config& config) {
    const auto& noise = config.noise;
    return !asks_for_the_published_controller(config) && !find_schedule_key(config) &&
           noise.allocation.value_or(allocation::shares) == allocation::shares && noise.statistics_share != 0;
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

bool leaves_room_for_a_schedule(const run_config& config) {
    const auto& noise = config.noise;
    const auto& lessons = config.public_data;
    return !asks_for_the_published_controller(config) &&
           config.rl.policy.value_or(controller_mode::learned) == controller_mode::learned &&
           noise.allocation != allocation::shares && noise.statistics_share.value_or(0) == 0 &&
           !lessons.used_for(public_use::radii) &&
           !(lessons.used_for(public_use::choose) && config.train.average == averaging::none);
}

controller_kind find_controller(const run_config& config) {
    if (!method_named(config.method.name).steered()) return controller_kind::schedule;
    const auto& rl = config.rl;
    if (rl.state) return *rl.state;
    if (config.privacy.semantics != semantics::sound) return controller_kind::published;
    if (config.train.optimizer != optimizer_kind::adamw) return controller_kind::schedule;
    if (rl.controller || rl.online || leaves_room_for_a_policy(config)) return controller_kind::prepared;
    return leaves_room_for_a_schedule(config) ? controller_kind::schedule : controller_kind::published;
}

method_choices resolve_choices(const run_config& config) {
    const auto& row = find_method(config);
    const bool sound = config.privacy.semantics == semantics::sound;
    const bool prepared = find_controller(config) == controller_kind::prepared;  // on runs of one noise level
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
