#pragma once
// Tables as numbers, for whoever compares them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rldp::eval {

enum class value_kind : std::uint8_t { number, category, text };

/// What tables that are compared have in common.
struct value_column {
    std::string name;
    value_kind kind = value_kind::category;
    std::vector<std::string> words;  ///< of a category or a text: what value 0, 1, … is
};

inline constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

/// A number, or which of the column's words; NaN is missing. A list per column, all of them as long.
using value_table = std::vector<std::vector<double>>;

inline std::size_t count_rows(const value_table& table) {
    return table.empty() ? 0 : table.front().size();
}

}  // namespace rldp::eval
