#pragma once
// Keys whose default depends on the method, the semantics or the data, resolved.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"

namespace rldp::config {

/// The first key of those given that the published controller alone has, or nothing.
std::optional<std::string_view> find_published_key(const run_config& config);
/// The first key of those given that sets a rate schedule or an average, which a prepared policy brings itself.
std::optional<std::string_view> find_schedule_key(const run_config& config);

struct method_choices {
    bool prepared;  ///< rl.state: where it is open, "prepared" for a steered method unless a key is given that
                    ///< a prepared policy has no use for
    rldp::allocation allocation;  ///< noise.allocation
    policy_kind policy;           ///< noise.policy; published under as_published
    clip_grouping groups;         ///< clip.groups
    double initial_radius;        ///< clip.initial
    double statistics_share;      ///< noise.statistics_share
    double radius_scale;          ///< rl.radius_scale
    bool rescale;                 ///< rl.rescale
    rate_shape schedule;          ///< train.schedule
    double value_weight;          ///< train.value_weight
    // Of the method's own keys; 0 where the method has none.
    double quantile;     ///< method.quantile
    double query_noise;  ///< method.query_noise
    double stabiliser;   ///< method.stabiliser
    std::int64_t rank;   ///< method.rank
};

/// Default of rl.radius_scale.
inline double default_radius_scale(semantics how) {
    return how == semantics::sound ? 0.1 : 1;
}

method_choices resolve_choices(const run_config& config);

}  // namespace rldp::config
