#pragma once
// What every cell of a grid sets besides its axes.
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/grid/grid.hpp"

namespace rldp::eval {

/// Evaluation units where the base names no number: equal for all, and quick.
inline constexpr int evaluation_records = 512;

/// The keys that equal_footing() always sets. On real data the split is the base's own: ε of several runs adds up only
/// where none shows a unit that another trains on (docs/privacy.md §7). Made-up records are nobody's, so there each
/// seed has a split of its own.
inline std::vector<std::string> footing_keys(bool made_up) {
    std::vector<std::string> out = {"seed", "monitor.address"};
    if (made_up) out.emplace_back("data.split_seed");
    return out;
}

/// Equal splits, initial adapters and evaluation subsets for cells of one seed; and no monitor, whose port only one
/// process can have.
inline std::vector<std::string> equal_footing(std::int64_t seed, bool made_up, const nlohmann::ordered_json& base) {
    std::vector<std::string> out;
    for (const auto& key : footing_keys(made_up))
        out.push_back(key == "monitor.address" ? key + "=null" : fmt::format("{}={}", key, seed));
    if (value_at(base, "train.eval_records").is_null())
        out.push_back(fmt::format("train.eval_records={}", evaluation_records));
    return out;
}

/// Those keys say nothing about the base.
inline void erase_footing(nlohmann::ordered_json& base, bool made_up) {
    for (const auto& key : footing_keys(made_up)) erase_key(base, key);
}

}  // namespace rldp::eval
