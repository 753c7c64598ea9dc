#pragma once
// The accountants: schema, maker, commands, plans and comparisons read the rows.
#include "config/base/named.hpp"

namespace rldp {

enum class accountant_kind { pld, rdp, gdp_clt };
template <>
struct names<accountant_kind> {
    static constexpr auto what = "accountant";
    static constexpr named_value<accountant_kind> rows[] = {
        {accountant_kind::pld, "pld"}, {accountant_kind::rdp, "rdp"}, {accountant_kind::gdp_clt, "gdp_clt"}};
};

}  // namespace rldp
