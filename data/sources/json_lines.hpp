#pragma once
// JSON lines: texts, and conversations.
#include <optional>
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

/// One JSON value: an object with the record under "text", or a bare string. `group` is looked up in the object, as a
/// string or an integer. `raw`, where it is given, becomes the value as it was given, without blanks and in the order
/// of its keys' names. Errors: bad_input naming the line.
record parse_json_line(const text_line& line, const std::optional<std::string>& group, const std::string& file,
                       std::string* raw = nullptr);

/// An object with "messages", a list of {"role", "content"}; content is text, or a list of parts of {"text"}. Errors:
/// bad_input naming the line, also of what the template refuses.
record parse_chat_line(const text_line& line, const std::optional<std::string>& group, const chat_template& how,
                       const std::string& file, std::string* raw = nullptr);

/// The records of such lines with texts.
std::vector<record> read_jsonl(const std::string& path, const std::optional<std::string>& group);

}  // namespace rldp::data
