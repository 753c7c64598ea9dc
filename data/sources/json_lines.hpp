#pragma once
// JSON lines: as texts, as conversations, and as a table.
#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "data/sources/tables.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

// Spelling. A line of JSON whose numbers keep theirs: an id of thirty digits is no double.

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

// Records. JSON lines: texts, and conversations.

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

// Tables. JSON lines as a table, for templates: an object per line, a column per key.

/// Reads a file a piece at a time. Columns are the keys of the first piece's objects, in their order; a key that an
/// object lacks is an empty cell, as is null. Lists of words or numbers are joined by commas. Errors: bad_input naming
/// the line of what is no object, of an object inside it, and of a key that first appears beyond the first piece.
class json_table_stream {
  public:
    /// `beside`: columns are only what stands beside a text or a conversation, texts and numbers; all else is not read.
    /// Beside a bare string there is nothing.
    explicit json_table_stream(const std::string& path, bool beside = false);
    ~json_table_stream();
    json_table_stream(const json_table_stream&) = delete;
    json_table_stream& operator=(const json_table_stream&) = delete;

    /// The next rows; nothing at the end.
    std::optional<table> next();
    void rewind();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace rldp::data
