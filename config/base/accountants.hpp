#pragma once
// The accountants by name: one row each. Schema, maker, commands, plans and comparisons read the rows.
#include <string>
#include <string_view>
#include <vector>

#include "config/base/error.hpp"

namespace rldp {

enum class accountant_kind { pld, rdp, gdp_clt };

struct accountant_row {
    accountant_kind kind;
    std::string_view name;  ///< privacy.accountant, and the ledger's word
};

/// In the order of the reference.
inline constexpr accountant_row accountants[] = {
    {accountant_kind::pld, "pld"}, {accountant_kind::rdp, "rdp"}, {accountant_kind::gdp_clt, "gdp_clt"}};

inline std::vector<std::string> accountant_names() {
    std::vector<std::string> names;
    for (const auto& row : accountants) names.emplace_back(row.name);
    return names;
}

/// Errors: bad_input for a name that no row has.
inline accountant_kind accountant_named(std::string_view name) {
    std::string known;
    for (const auto& row : accountants) {
        if (row.name == name) return row.kind;
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    refuse("accountant \"" + std::string(name) + "\" is unknown: use one of " + known);
}

}  // namespace rldp
