#pragma once
// A first look at a file of records: its columns, what they seem to hold, and what should become of them. Everything
// here but names and types comes from values, which are private.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/records.hpp"

namespace rldp::data {

enum class column_type : std::uint8_t { empty, constant, number, date, category, prose, other };
std::string name_of(column_type type);

enum class column_role : std::uint8_t {
    told,      ///< a clause of the record
    prose,     ///< a clause that is its value alone
    record,    ///< names the record, and is never told
    person,    ///< says whose the record is, and is never told
    left_out,  ///< identifies, or says nothing
};

struct column_facts {
    std::string name;
    column_type type = column_type::other;
    column_role role = column_role::told;
    std::size_t distinct = 0;  ///< values; private
};

struct survey {
    data_kind kind = data_kind::text;
    bool has_text = false;              ///< JSON lines with the record under "text": no template is needed
    bool has_chats = false;             ///< JSON lines with a conversation under "messages": the model's is used
    char delimiter = ',';               ///< of a table
    std::size_t records = 0;            ///< private
    std::vector<column_facts> columns;  ///< in the file's order; none of plain text

    const column_facts* find(column_role role) const;
    /// The column whose value should be guessed from the others (eval.target), if one looks like it.
    std::optional<std::string> target;
};

/// What the owner of the file says of it.
struct survey_hints {
    std::optional<std::string> person;  ///< a column, or "none"
    std::optional<std::string> target;  ///< likewise
};

/// Reads the whole file. Errors: bad_input as open_records, and for a hint that is no column.
survey survey_of(const std::string& path, const survey_hints& hints);

/// A template of config/narrative-diamonds.json's kind for what was found, as JSON text. Only for tables, and for JSON
/// lines without "text".
std::string template_for(const survey& found, const std::string& path);

}  // namespace rldp::data
