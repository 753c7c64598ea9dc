#pragma once
// What method.name may be, and what the keys are whose default depends on it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace rldp::config {

// Methods. What method.name may be: one row each. Schema, defaults, validation, comparison and the makers of methods
// read the rows.

enum class method_kind {
    rldp,
    fixed_radius,
    adaclip,
    autoclip_quantile,
    auto_s,
    dcsgd_p,
    dcsgd_e,
    geoclip,
    psac,
    dp_lora,
    dp_lora_literal,
    dp_adambc,
    scale_first,
    hyfreedp,
};

/// What a method may clip as one.
enum class grouping_rule {
    any,         ///< whatever clip.groups says
    by_factor,   ///< all A, and all B
    whole,       ///< the gradient as one
    per_adapter  ///< any; each adapter on its own by default
};

/// A key's default: so much, and so much of the expected batch size.
struct scaled_default {
    double constant = 0, per_unit_of_batch = 0;
    std::string words;  ///< for the reference
};

struct method_row {
    method_kind kind;
    std::string name;      ///< method.name
    std::string sentence;  ///< what it is, for tables
    grouping_rule groups;
    double initial_radius;                    ///< default of clip.initial
    policy_kind policy = policy_kind::fixed;  ///< default of noise.policy
    double statistics_share = 0;              ///< default of noise.statistics_share; 0: the method uses no statistics
    /// Defaults of the keys of its own; without one, the key has no meaning for it.
    std::optional<double> quantile = {};
    std::optional<scaled_default> query_noise = {};
    std::optional<double> stabiliser = {};
    std::optional<std::int64_t> rank = {};
    /// Whether it asks for more of unit gradients than their norms, or for pairs of A and B.
    bool adapters_only = false;
    /// Numbers in float64 that it keeps or works with for each trained one, 4·rank besides: for estimates of memory.
    int vectors = 0;

    /// Whether a controller steers it: only then there are statistics, a deck to deal and decisions.
    bool steered() const { return kind == method_kind::rldp; }
    /// Default of clip.groups.
    clip_grouping default_groups() const;
};

/// In the order of the reference.
const std::vector<method_row>& methods();

/// Errors: bad_input for a name that no row has.
const method_row& method_named(const std::string& name);
/// The row that acts: method.name's, or where that has a controller and find_controller() finds a schedule in its
/// place, the row of "static".
const method_row& find_method(const run_config& config);

/// Of the rows that have something.
template <class Has>
std::string names_of_methods(Has has) {
    std::vector<std::string> names;
    for (const auto& row : methods())
        if (has(row)) names.push_back(row.name);
    return joined_names(names);
}

// Choices. Keys whose default depends on the method, the semantics or the data, resolved.

/// The first key of those given that the published controller alone has, or nothing.
std::optional<std::string_view> find_published_key(const run_config& config);
/// The first key of those given that sets a rate schedule or an average, which a prepared policy brings itself.
std::optional<std::string_view> find_schedule_key(const run_config& config);

/// Whether no key is given that a controller alone has: a schedule may take its place.
bool leaves_room_for_a_schedule(const run_config& config);

/// Who steers: rl.state. Where it is open, who does if nobody doubts the policy that ships: "prepared" unless a key is
/// given that a prepared policy has no use for, then "schedule", or "published" where the key is a controller's alone.
controller_kind find_controller(const run_config& config);

struct method_choices {
    bool prepared;                ///< whether find_controller() says so
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
