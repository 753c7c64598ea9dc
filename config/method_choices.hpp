#pragma once
// Keys whose default depends on the method, resolved.
#include <cstdint>
#include <string>

#include "config/config.hpp"

namespace rldp::config {

struct method_choices {
    std::string policy;           ///< noise.policy; "published" under as_published
    std::string groups;           ///< clip.groups
    double initial_radius = 1;    ///< clip.initial
    double statistics_share = 0;  ///< noise.statistics_share
    double radius_scale = 1;      ///< rl.radius_scale
    bool rescale = false;         ///< rl.rescale
    // Of the method's own keys; any valid number where the method has none.
    double quantile = 0.5;     ///< method.quantile
    double query_noise = 1;    ///< method.query_noise
    double stabiliser = 0.01;  ///< method.stabiliser
    std::int64_t rank = 0;     ///< method.rank
};

method_choices choices_of(const run_config& config);

}  // namespace rldp::config
