#pragma once
// The schema of a table, as its owner declares it in the template: its columns in order, and what their values may be.
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/grammar/language.hpp"
#include "data/grammar/parts.hpp"

namespace rldp::data {

// Types. Of a column's cells, as they stand in the table.

inline constexpr std::size_t most_categories = 10'000;

/// One of a list. Of a column whose template names a code table, `all_codes`: whatever that table has.
struct category_type {
    std::vector<std::string> values;
    bool all_codes = false;
};
struct number_type {
    number_range range;
    bool whole = false;  ///< declared as integer
};
struct date_type {
    std::int64_t first = 0, last = 0;  ///< days since 1970-01-01
    std::string format;
};
struct code_type {
    std::string pattern;
    std::shared_ptr<const part> spelled;
};
struct text_type {
    std::int64_t most = undeclared;  ///< characters

    static constexpr std::int64_t undeclared = 100;  ///< of a column of which nothing is said
};
using column_type = std::variant<text_type, category_type, number_type, date_type, code_type>;

struct column_schema {
    std::string name;
    column_type type;       ///< free text of text_type::undeclared characters at most where none is declared
    bool required = false;  ///< else a value may be missing
};

/// A list of {"column": NAME} with one of "category": [VALUE, …] or "codes", "integer": [LOW, HIGH], "number": [LOW,
/// HIGH] (both with "step"), "date": [FIRST, LAST] (with "format"), "code": PATTERN and "text": CHARACTERS, or none;
/// "required": true where no value is missing. Errors: bad_input naming `file` and key path.
std::vector<column_schema> read_schema(const nlohmann::json& list, const std::string& file);

/// Whether a cell, which is not missing, is of the type. A number has a point.
bool conforms(std::string_view cell, const column_type& type);

/// What is said of the type in a sentence: "one of 3 values".
std::string describe(const column_type& type);

}  // namespace rldp::data
