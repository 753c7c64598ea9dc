#include "config/method_choices.hpp"

#include "config/methods.hpp"

namespace rldp::config {

namespace {

const char* default_groups(clip_groups may) {
    switch (may) {
        case clip_groups::per_adapter:
            return "adapters";
        case clip_groups::by_factor:
            return "factors";
        case clip_groups::any:
        case clip_groups::whole:
            return "flat";
    }
    return {};
}

double resolved(const scaled_default& value, const run_config& config) {
    return value.constant + value.per_unit_of_batch * static_cast<double>(config.train.expected_batch_size);
}

}  // namespace

method_choices choices_of(const run_config& config) {
    const auto& row = method_of(config);
    const bool sound = config.privacy.semantics == semantics::sound;
    return {.policy = sound ? config.noise.policy.value_or(row.steered() ? "deck" : "fixed") : "published",
            .groups = config.clip.groups.value_or(default_groups(row.groups)),
            .initial_radius = config.clip.initial.value_or(row.initial_radius),
            .statistics_share = config.noise.statistics_share.value_or(row.steered() ? 0.02 : 0),
            .radius_scale = config.rl.radius_scale.value_or(sound ? 0.1 : 1),
            .rescale = config.rl.rescale.value_or(sound),
            .quantile = config.method.quantile.value_or(row.quantile.value_or(method_choices{}.quantile)),
            .query_noise = config.method.query_noise.value_or(row.query_noise ? resolved(*row.query_noise, config)
                                                                              : method_choices{}.query_noise),
            .stabiliser = config.method.stabiliser.value_or(row.stabiliser.value_or(method_choices{}.stabiliser)),
            .rank = config.method.rank.value_or(row.rank.value_or(method_choices{}.rank))};
}

}  // namespace rldp::config
