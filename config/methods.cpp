#include "config/methods.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp::config {

const std::vector<method_row>& methods() {
    using kind = method_kind;
    using groups = grouping_rule;
    const auto of_batch = scaled_default{.per_unit_of_batch = 0.05, .words = "expected_batch_size/20"};
    const auto six = scaled_default{.constant = 6, .words = "6"};
    static const std::vector<method_row> rows = {
        {.kind = kind::rldp,
         .name = "rldp",
         .sentence = "a controller steers radii and noise",
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
         .adapters_only = true},
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
         .adapters_only = true},
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
         .adapters_only = true},
        {.kind = kind::hyfreedp,
         .name = "hyfreedp",
         .sentence = "HyFreeDP: every gradient is normalised, and privatised losses set the learning rate",
         .groups = groups::any,
         .initial_radius = 1,
         .statistics_share = 0.1,
         .stabiliser = 0.01},
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
    return method_named(config.method.name);
}

}  // namespace rldp::config
