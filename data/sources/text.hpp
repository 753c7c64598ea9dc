#pragma once
// Text files, checked: plain lines become records.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/text_range.hpp"

namespace rldp::data {

/// Where a column of a table stands in a record's text, in bytes.
struct clause {
    std::size_t column;              ///< in the order of record_stream::columns()
    text_range whole;                ///< the clause
    std::vector<text_range> values;  ///< what in it depends on the value
};

/// One record before it joins a unit.
struct record {
    std::string text;
    std::string key;                       ///< value of the record key column; empty where none is declared
    std::string group;                     ///< value of the unit's key column; empty with record units
    std::vector<clause> clauses = {};      ///< none of a record that is text already
    std::vector<text_range> answers = {};  ///< of a conversation: what is learned, all else being context
};

/// Refuses with "file:line: what".
[[noreturn]] void refuse_at(const std::string& file, std::size_t line, const std::string& what);

/// The bytes without a byte-order mark. Errors: bad_input where they are empty or not UTF-8 (names the line).
std::string checked_text(std::string bytes, const std::string& file);

/// The bytes, which begin on line `first` of the file. Errors: bad_input where they are not UTF-8 (names the line).
std::string checked_utf8(std::string bytes, const std::string& file, std::size_t first);

/// Nothing but spaces and tabs.
bool is_blank(std::string_view text);

/// A line that is not blank, with its number.
struct text_line {
    std::string_view text;
    std::size_t number;
};

/// The lines of `text`, which begins on line `first` of a file, without line ends; blank ones are left out.
std::vector<text_line> split_lines(std::string_view text, std::size_t first = 1);

/// One record per line; empty lines are skipped.
std::vector<record> read_lines(const std::string& path);

}  // namespace rldp::data
