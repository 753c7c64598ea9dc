#pragma once
// Columns whose owner knows what kind of values they have, and not which.
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/domains/grid.hpp"

namespace rldp::data {

enum class open_kind : std::uint8_t { category, integer, number, date };

struct open_column {
    std::string name;
    open_kind kind = open_kind::category;
    std::string step = {};            ///< of integers "1" or as said; of numbers as said, or empty: to be found, too
    std::string format = "%Y-%m-%d";  ///< of dates

    bool has_grid() const { return kind != open_kind::category; }
    const grid& where() const { return kind == open_kind::date ? date_grid : number_grid; }
    bool finds_decimals() const { return kind == open_kind::number && step.empty(); }
};

/// "cut=category", "age=integer", "age=integer:5", "price=number", "price=number:0.01", "day=date",
/// "day=date:%d.%m.%Y". Errors: bad_input.
open_column read_open_column(const std::string& said);

/// The most decimals that a number may have.
inline constexpr std::size_t most_decimals = 9;

/// Of a cell of a column with a grid: none where it is no value of the kind.
struct open_value {
    grid_place place;
    std::size_t decimals = 0;  ///< as written
};
std::optional<open_value> read_open_value(std::string_view cell, const open_column& column);

/// The column's entry in a schema. `decimals`: as found, where they were open. Errors: bad_input where a schema can't
/// hold the domain.
nlohmann::ordered_json write_range(const open_column& column, const std::pair<bucket, bucket>& ends,
                                   std::optional<std::size_t> decimals);
nlohmann::ordered_json write_categories(const open_column& column, const std::vector<std::string>& values);

}  // namespace rldp::data
