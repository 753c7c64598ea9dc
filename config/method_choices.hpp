#pragma once
// Keys whose default depends on the method, resolved.
#include <cstdint>
#include <string>

#include "config/config.hpp"

namespace rldp::config {

struct method_choices {
    std::string policy;       ///< noise.policy
    std::string groups;       ///< clip.groups
    double initial_radius;    ///< clip.initial
    double statistics_share;  ///< noise.statistics_share
    double radius_scale;      ///< rl.radius_scale
    bool rescale;             ///< rl.rescale
    double quantile;          ///< method.quantile
    double query_noise;       ///< method.query_noise
    double stabiliser;        ///< method.stabiliser
    std::int64_t rank;        ///< method.rank
};

method_choices choices_of(const run_config& config);

/// Whether a controller steers the run: only then there are statistics, a deck to deal and decisions.
bool is_steered(const run_config& config);

}  // namespace rldp::config
