#pragma once
// A line of JSON whose numbers keep their spelling: an id of thirty digits is no double.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/sources/text.hpp"

namespace rldp::data {

/// Numbers that are no integers of 64 bits are held as what they are written as, in a binary value; keys have the order
/// in which they stand, and of equal ones the last counts.
using spelled_json = nlohmann::ordered_json;

/// Errors: bad_input naming line and column and the parser's reason, but nothing of the line's text.
spelled_json parse_spelled(const text_line& line, const std::string& file);

/// What a number, a truth or a text is written as, without quotes; nothing for null.
std::string spell_scalar(const spelled_json& scalar);

/// `otherwise`, but of a list, as whole files of JSON have one, how it becomes lines.
std::string what_instead(const spelled_json& value, const std::string& otherwise);

bool is_integer(const spelled_json& value);

/// The value without blanks, its keys in the order of their names.
std::string canonical(const spelled_json& value);

}  // namespace rldp::data
