#include "config/method_choices.hpp"

namespace rldp::config {

bool is_steered(const run_config& config) {
    return config.method.name == "rldp";
}

method_choices choices_of(const run_config& config) {
    const auto& name = config.method.name;
    const bool steered = is_steered(config);
    const bool sound = config.privacy.semantics == semantics::sound;
    const bool autoclip = name == "autoclip_quantile";
    const bool by_factor = name == "dp_lora" || name == "dp_lora_literal";
    const auto batch = static_cast<double>(config.train.expected_batch_size);
    return {.policy = config.noise.policy.value_or(steered ? "deck" : "fixed"),
            .groups = config.clip.groups.value_or(steered     ? "adapters"
                                                  : by_factor ? "factors"
                                                              : "flat"),
            .initial_radius = config.clip.initial.value_or(steered || autoclip ? 0.1 : 1),
            .statistics_share = config.noise.statistics_share.value_or(steered ? 0.02 : 0),
            .radius_scale = config.rl.radius_scale.value_or(sound ? 0.1 : 1),
            .rescale = config.rl.rescale.value_or(sound),
            .quantile = config.method.quantile.value_or(autoclip ? 0.5 : 0.3),
            .query_noise = config.method.query_noise.value_or(autoclip ? batch / 20 : 6),
            .stabiliser = config.method.stabiliser.value_or(0.01),
            .rank = config.method.rank.value_or(8)};
}

}  // namespace rldp::config
