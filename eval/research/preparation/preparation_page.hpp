#pragma once
// What a preparation's page shows: whether to trust its policy, and why.
#include <string>
#include <vector>

#include "eval/report/page.hpp"
#include "rl/prepared/prepared_policy.hpp"

namespace rldp::eval {

/// What a policy made of one task's learning rate.
struct rate_path {
    std::string task;
    double began = 0;  ///< mean rate that the task was given, over that which is chosen for its plan
    curve factors;     ///< common factor of the rate, over the share of the steps
};

/// The whole page: the gate, gains family by family, how the searches went, and what the policy does on some tasks.
/// What its file lacks is left out.
std::string preparation_html(const rl::prepared_policy& of, const std::vector<rate_path>& paths);

}  // namespace rldp::eval
