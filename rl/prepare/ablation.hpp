#pragma once
// What a rule's gain is made of.
#include <span>
#include <string>
#include <vector>

#include "rl/prepare/practice.hpp"
#include "rl/prepare/search.hpp"

namespace rldp::rl {

/// What parts are compared on: searched from where the rule was, and judged as it was.
struct ablation_terms {
    task_list tasks, gate;
    std::vector<double> start;  ///< a schedule's numbers
    search_config search;
    comparison_seeds judging;
    std::span<const double> common;  ///< losses of the schedule that all are compared with
};

struct ablation {
    std::string name;
    paired found;
};

/// Rules that lack numbers, searched anew; the rule, and the `whole` policy, that see another run.
std::vector<ablation> ablations(const ablation_terms& terms, const scheduled_policy& ruled, const scheduled_policy& whole);

}  // namespace rldp::rl
