#pragma once
// How a privacy budget may be spent: one row each. Schema, ledger, report and the maker of policies read the rows.
#include <string>
#include <vector>

namespace rldp::config {

enum class policy_kind { fixed, deck, filter, published };

struct policy_row {
    policy_kind kind;
    std::string name;   ///< noise.policy, and the ledger's word
    std::string proof;  ///< why the total holds although choices depend on earlier releases; for the report
    bool sound;         ///< whether noise.policy may name it; the others are for as_published alone
};

/// In the order of the reference.
const std::vector<policy_row>& policies();

/// Errors: bad_input for a name that no row has.
const policy_row& policy_named(const std::string& name);

}  // namespace rldp::config
