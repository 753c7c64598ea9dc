#pragma once
// What every cell of a grid sets besides its axes.
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/grid.hpp"

namespace rldp::eval {

/// Evaluation units where the base names no number: equal for all, and quick.
inline constexpr int evaluation_records = 512;

/// Equal splits, initial adapters and evaluation subsets for cells of one seed; and no monitor, whose port only one
/// process can have.
inline std::vector<std::string> equal_footing(std::int64_t seed, const nlohmann::ordered_json& base) {
    std::vector<std::string> out = {fmt::format("seed={}", seed), fmt::format("data.split_seed={}", seed),
                                    "monitor.address=null"};
    if (value_at(base, "train.eval_records").is_null())
        out.push_back(fmt::format("train.eval_records={}", evaluation_records));
    return out;
}

/// The keys that are always set, and so say nothing about the base.
inline void erase_footing(nlohmann::ordered_json& base) {
    for (const char* key : {"seed", "data.split_seed", "monitor.address"}) erase_key(base, key);
}

}  // namespace rldp::eval
