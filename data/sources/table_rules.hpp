#pragma once
// What a table's owner declares beside its schema, for the report on a made-up table: rules that every row keeps, and
// what a cell says, whatever spelling it has.
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/sources/schema.hpp"
#include "data/sources/tables.hpp"

namespace rldp::data {

struct row_template;

// Rules. Of a row: a condition of some columns implies one of others, or a column is not above another.

struct table_rule {
    /// A column's cell is one of these; of none, where it is missing.
    struct condition {
        std::string column;
        std::vector<std::optional<std::string>> values;
    };
    /// Both are numbers, or both dates.
    struct comparison {
        std::string left, right;
        bool or_equal = true;
    };

    std::string text;  ///< as it was written
    std::vector<condition> when, then;
    std::optional<comparison> compare;  ///< else `when` implies `then`
};

/// A list of {"if": {COLUMN: VALUE, …}, "then": {COLUMN: VALUE, …}}, where VALUE is a cell, null or a list of them, and
/// of "COLUMN <= COLUMN" or "COLUMN < COLUMN". Errors: bad_input naming `file` and the rule's place.
std::vector<table_rule> read_rules(const nlohmann::json& list, const std::vector<column_schema>& schema,
                                   const std::string& file);

// Cells. What one says: a number, days since 1970-01-01, a word, or nothing.

enum class column_kind : std::uint8_t { number, category, text };
column_kind kind_of_column(const column_type& type);

class cell_reader {
  public:
    /// Keeps references to both; `codes` may be null.
    cell_reader(const row_template& how, const column_schema& column, const code_book* codes);

    column_kind kind() const { return kind_; }
    /// The same for cells that are told alike; none of a missing one.
    std::optional<std::string> word(std::string_view cell) const;
    /// Of a column of numbers or dates; none of what is missing, or none.
    std::optional<double> number(std::string_view cell) const;

  private:
    const row_template& how_;
    const column_schema& column_;
    column_kind kind_;
    bool decimal_comma_ = false;
    const std::map<std::string, std::string, std::less<>>*codes_ = nullptr, *words_ = nullptr;
    std::unordered_map<std::string, std::int64_t> days_;
};

enum class kept : std::uint8_t { yes, no, not_asked };  ///< not_asked: the condition is not there, or a side is missing

/// Looks a table's rows over. Keeps references to all three.
class rule_check {
  public:
    /// `columns`: of the rows that it is given.
    rule_check(const table_rule& rule, const std::vector<std::string>& columns,
               const std::map<std::string, cell_reader, std::less<>>& readers);
    kept operator()(const std::function<std::string_view(std::size_t column)>& cell) const;

  private:
    struct asked {
        std::size_t column;
        const cell_reader* reader;
        std::vector<std::optional<std::string>> values;
    };
    bool holds(const std::vector<asked>& all, const std::function<std::string_view(std::size_t)>& cell) const;

    std::vector<asked> when_, then_;
    std::optional<std::pair<asked, asked>> compare_;
    bool or_equal_ = true;
};

}  // namespace rldp::data
