#pragma once
// A template, kept as JSON, turns the rows of a table into prose. config/narrative-uci.json is an example with every
// rule.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/sources/schema.hpp"
#include "data/sources/table_rules.hpp"
#include "data/sources/tables.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

/// Text with slots: {label}, {value}, {low}, {high}.
class pattern {
  public:
    struct filling {
        std::string_view label, value, low, high;
    };

    /// Parses `text`. Returns nullopt where a brace is unmatched or a slot is not in `allowed` (names separated by
    /// blanks).
    static std::optional<pattern> parse(const std::string& text, std::string_view allowed);
    /// Also notes where slots other than the label's were filled, if `values` is given.
    void append(std::string& out, const filling& with, std::vector<text_range>* values) const;

  private:
    std::vector<std::pair<std::string, std::string_view filling::*>> pieces_;  ///< literal, then slot (or null)
};

using words = std::map<std::string, std::string, std::less<>>;

/// How one column reads. A missing value always reads "{label} is unknown" through `clause`.
struct column_rule {
    struct count_forms {
        std::optional<pattern> zero, one;  ///< absent: `many` serves
        pattern many;
    };

    std::string label;                      ///< default: the column's name with blanks for underscores
    pattern clause;                         ///< default: the template's
    words values = {};                      ///< words in place of values
    words sentences = {};                   ///< whole clauses in place of values; other values read through `clause`
    std::optional<std::string> codes = {};  ///< table of the code book
    std::optional<count_forms> count = {};  ///< by the value, an integer ≥ 0
    std::optional<pattern> range = {};      ///< for values like [60-70)
    bool decimal_comma = false;             ///< numbers are written 1.234,5 and told 1234.5
};

/// Template keys: "record", "person", "leave_out", "only_named", "opening", "missing", "unknown", "clause", "values"
/// (named word lists) and "columns": {name: {"label", "clause", "values" (word list or its name), "sentences", "codes",
/// "count" {"zero", "one", "many"}, "range", "decimal" (","; numbers are told with a point)}} and "schema"
/// (see read_schema), with it "rows_per_person": [SHARE of persons with 1 row, with 2, …], and "sensitive", "target"
/// and "rules" (read_rules), which say what a report on a made-up table asks. Columns of the table that it does not
/// name read through "clause", or are left out. With a schema its columns are told, in its order, and no others.
struct row_template {
    std::string file;
    std::optional<std::string> record;  ///< key of the row; never verbalised
    std::optional<std::string> person;  ///< key of the person; never verbalised
    std::set<std::string, std::less<>> leave_out;
    bool only_named = false;  ///< whether columns without a rule are left out, too
    std::string opening;
    std::set<std::string, std::less<>> missing;
    std::string unknown;
    pattern clause;
    std::map<std::string, column_rule, std::less<>> columns;
    std::optional<std::vector<column_schema>> schema = {};
    std::vector<double> rows_per_person = {};  ///< shares of made-up persons with 1, 2, … rows, which sum to 1; or none
    std::vector<std::string> sensitive = {};  ///< columns that nobody shall infer of somebody
    std::optional<std::string> target = {};   ///< column that a classifier is to tell
    std::vector<table_rule> rules = {};

    /// Whether the column has a clause in a record's text.
    bool tells(std::string_view column) const;
    /// And no code book or list says what its values may be.
    bool tells_values_of(std::string_view column) const;
};

/// Errors: bad_input naming file and key path.
row_template read_template(const std::string& path);
/// The same from text; `file` names it in messages.
row_template parse_template(const std::string& json, const std::string& file);

/// The template, which has a schema, as anybody may have it: its text without the names of columns that are never told,
/// and in place of the code tables that it names what they say of codes that are declared. A column whose codes can't
/// be listed is undeclared there. Errors: bad_input where the book lacks a table.
std::string publish_template(const std::string& json, const std::string& file, const code_book* codes);

/// Verbalises the rows of one table, fields in the schema's order, else in the table's.
class row_renderer {
  public:
    /// `codes` may be null: then codes stay codes. Keeps references to all three. Errors: bad_input where the table
    /// lacks a column that the template names, or the book lacks a code table.
    row_renderer(const row_template& how, const table& rows, const code_book* codes);
    row_renderer(const row_renderer&) = delete;  // fields point into plain_
    row_renderer& operator=(const row_renderer&) = delete;

    /// Errors: bad_input naming the line of a value that does not fit its rule. With `clauses`, says where each column
    /// stands, in text order.
    std::string operator()(std::size_t row, std::vector<clause>* clauses = nullptr) const;

  private:
    struct field {
        std::size_t column;
        const column_rule* rule;
        const words* codes;  ///< null where the column has none
    };

    void check_columns() const;
    void add_field(std::size_t column, const code_book* codes);
    const column_rule& find_column_rule(const std::string& column);
    const words& find_meanings(const std::string& column, const std::string& name, const code_book& codes) const;
    std::string_view decode(const field& which, std::string_view value, std::size_t row) const;
    /// These append a clause, and say which parts of it the value made: none for all of it.
    std::vector<text_range> append_clause(std::string& out, const field& which, std::string_view value,
                                          std::size_t row) const;
    std::vector<text_range> append_count(std::string& out, const field& which, std::string_view value,
                                         std::size_t row) const;
    std::vector<text_range> append_range(std::string& out, const field& which, std::string_view value,
                                         std::size_t row) const;
    [[noreturn]] void refuse_value(const field& which, std::size_t row, const std::string& need) const;

    const row_template& how_;
    const table& rows_;
    std::map<std::string, column_rule, std::less<>> plain_;  ///< rules of columns that the template does not name
    std::vector<field> fields_;
};

}  // namespace rldp::data
