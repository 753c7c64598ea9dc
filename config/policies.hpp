#pragma once
// How a privacy budget may be spent: one row each. Schema and report read the rows.
#include <string>
#include <vector>

#include "base/kinds.hpp"

namespace rldp::config {

struct policy_row {
    policy_kind kind;
    std::string proof;  ///< why the total holds although choices depend on earlier releases; for the report
    bool sound;         ///< whether noise.policy may name it; the others are for as_published alone
};

/// In the order of the reference.
const std::vector<policy_row>& policies();

const policy_row& find_policy(policy_kind kind);

}  // namespace rldp::config
