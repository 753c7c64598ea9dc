#pragma once
// What the numbers of a table's code columns mean.
#include <functional>
#include <map>
#include <string>

namespace rldp::data {

/// Code column → code → description.
using code_book = std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>;

/// Reads stacked two-column tables ("admission_type_id,description" …) separated by lines of a lone comma; blanks
/// around cells are trimmed. Errors: bad_input naming the line of a table that is not two columns wide or a code given
/// twice.
code_book read_code_book(const std::string& path);
/// The same from text; `file` names it in messages.
code_book parse_code_book(std::string text, const std::string& file);

}  // namespace rldp::data
