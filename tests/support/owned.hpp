#pragma once
// A unit of a store as one that can be kept and compared.
#include "data/units/token_store.hpp"

inline rldp::data::token_unit owned(const rldp::data::unit_view& seen) {
    rldp::data::token_unit out{.records = {}, .gradient_canary = seen.gradient_canary};
    for (const auto& tokens : seen.records) out.records.emplace_back(tokens.begin(), tokens.end());
    return out;
}
