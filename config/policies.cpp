#include "config/policies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/error.hpp"

namespace rldp::config {

const std::vector<policy_row>& policies() {
    using kind = policy_kind;
    static const std::vector<policy_row> rows = {
        {kind::fixed, "fixed", "Every step used the one noise multiplier that was fixed before training.", true},
        {kind::deck, "deck",
         "The multiset of noise levels was fixed before training and accounted as a whole; the controller chose only "
         "its order. So the guarantee holds although every choice depended on earlier releases.",
         true},
        {kind::filter, "filter",
         "A Rényi filter at one order, fixed before training, granted every step. So the guarantee holds although "
         "noise was chosen from earlier releases.",
         true},
        {kind::published, "published", "None: noise was chosen freely and priced afterwards, by an approximation.",
         false},
    };
    return rows;
}

const policy_row& policy_named(const std::string& name) {
    const auto& rows = policies();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
    if (found == rows.end()) refuse(fmt::format("spending policy \"{}\" is unknown", name));
    return *found;
}

}  // namespace rldp::config
