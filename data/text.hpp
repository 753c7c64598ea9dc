#pragma once
// Text files, checked: JSON lines and plain lines become records.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rldp::data {

/// One record before it joins a unit.
struct record {
    std::string text;
    std::string key;    ///< value of the record key column; empty where none is declared
    std::string group;  ///< value of the unit's key column; empty with record units
};

/// Refuses with "file:line: what".
[[noreturn]] void refuse_at(const std::string& file, std::size_t line, const std::string& what);

/// The bytes without a byte-order mark. Errors: bad_input where they are empty or not UTF-8 (names the line).
std::string checked_text(std::string bytes, const std::string& file);

/// One JSON value per line: an object with the record under "text", or a bare string. Empty lines are skipped. `group`
/// is looked up in the object, as a string or an integer. Errors: bad_input naming the line.
std::vector<record> read_jsonl(const std::string& path, const std::optional<std::string>& group);

/// One record per line; empty lines are skipped.
std::vector<record> read_lines(const std::string& path);

}  // namespace rldp::data
