#include "config/policies.hpp"

#include "base/error.hpp"

namespace rldp::config {

const std::vector<policy_row>& policies() {
    using kind = policy_kind;
    static const std::vector<policy_row> rows = {
        {kind::fixed, "Every step used the one noise multiplier that was fixed before training.", true},
        {kind::deck,
         "The multiset of noise levels was fixed before training and accounted as a whole; the controller chose only "
         "its order. So the guarantee holds although every choice depended on earlier releases.",
         true},
        {kind::filter,
         "A Rényi filter at one order, fixed before training, granted every step. So the guarantee holds although "
         "noise was chosen from earlier releases.",
         true},
        {kind::published, "None: noise was chosen freely and priced afterwards, by an approximation.", false},
    };
    return rows;
}

const policy_row& find_policy(policy_kind kind) {
    for (const auto& row : policies())
        if (row.kind == kind) return row;
    bug("a spending policy without a row");
}

}  // namespace rldp::config
