#include "config/method_choices.hpp"

#include "config/methods.hpp"

namespace rldp::config {

namespace {

double resolved(const scaled_default& value, const run_config& config) {
    return value.constant + value.per_unit_of_batch * static_cast<double>(config.train.expected_batch_size.value_or(
                                                          0));  // open: nobody asks yet
}

}  // namespace

method_choices choices_of(const run_config& config) {
    const auto& row = method_of(config);
    const bool sound = config.privacy.semantics == semantics::sound;
    const bool prepared = config.rl.state == "prepared";  // on runs of one noise level
    return {
        .policy = sound ? config.noise.policy.value_or(prepared ? "fixed" : row.policy) : "published",
        .groups = config.clip.groups.value_or(row.default_groups()),
        .initial_radius = config.clip.initial.value_or(row.initial_radius),
        .statistics_share = config.noise.statistics_share.value_or(row.statistics_share),
        .radius_scale = config.rl.radius_scale.value_or(default_radius_scale(config.privacy.semantics)),
        .rescale = config.rl.rescale.value_or(sound),
        .schedule = config.train.schedule.value_or(!sound || row.kind == method_kind::hyfreedp ? "constant" : "linear"),
        .value_weight = config.train.value_weight.value_or(
            sound && config.data.narrative && config.public_data.used_for("warm_start") ? 3 : 1),
        .quantile = config.method.quantile.value_or(row.quantile.value_or(0)),
        .query_noise = config.method.query_noise.value_or(row.query_noise ? resolved(*row.query_noise, config) : 0),
        .stabiliser = config.method.stabiliser.value_or(row.stabiliser.value_or(0)),
        .rank = config.method.rank.value_or(row.rank.value_or(0))};
}

}  // namespace rldp::config
