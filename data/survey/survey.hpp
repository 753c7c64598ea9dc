#pragma once
// A first look at a file of records: its columns, and what should become of them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/sources/column_names.hpp"
#include "data/sources/records.hpp"

namespace rldp::data {

// Watching. What one column holds, gathered value by value in bounded memory.

/// What tables write where there is no value.
inline constexpr std::array<std::string_view, 18> values_for_none{"",     "?",    "-",     "NA",   "N/A",  "n/a",
                                                                  "n.a.", "k.A.", "k. A.", "#N/A", "<NA>", "nan",
                                                                  "NaN",  "NaT",  "None",  "NULL", "null", "unknown"};

class column_watch {
  public:
    void see(std::string_view value);
    /// Whether every record has the same, or nothing.
    bool says_nothing() const;
    /// Of the values that were there; exact up to most_distinct.
    std::size_t distinct() const { return seen_.size(); }
    /// How many records have each of values_for_none.
    const std::array<std::size_t, values_for_none.size()>& missing() const { return missing_; }
    /// Private: "whole numbers from 0 to 97", "3 values".
    std::string describe() const;
    /// Private: a type that has the values, as --type takes it behind the column's name: "integer:0:100". Ends are
    /// rounded outwards; of words none is shown: "category:…".
    std::string suggest_type() const;
    /// Values that are numbers with a decimal comma, of those that are there.
    std::size_t decimal_commas() const { return decimal_commas_; }
    /// Records that have the one word that stands among numbers, where most of the others are numbers; else 0.
    std::size_t words_among_numbers() const;

  private:
    void see_number(const std::string& value);

    static constexpr std::size_t most_distinct = 2'000'000;

    std::size_t present_ = 0, numbers_ = 0, dates_ = 0, decimal_commas_ = 0, decimals_ = 0;
    std::size_t longest_ = 0;          ///< bytes
    double lowest_ = 0, highest_ = 0;  ///< of the numbers
    std::string first_, last_;         ///< of the dates, as 2024-12-31
    std::array<std::size_t, values_for_none.size()> missing_{};
    std::unordered_set<std::uint64_t> seen_, words_;  ///< hashes; of words no more than a few
};

// Survey. What should become of columns follows from names and from what the owner says. What was seen in values is
// private, and there to advise the owner.

enum class column_role : std::uint8_t {
    rendered,   ///< a clause of the record
    free_text,  ///< a clause of its value and words that end it
    person,     ///< says whose the record is, and is never rendered
    left_out,   ///< identifies by its name, or the owner leaves it out
};

struct column_facts {
    std::string name;
    naming named = naming::nothing;  ///< nothing, too, where a code book tells what its values mean
    column_role role = column_role::rendered;
    std::size_t distinct = 0;   ///< values; private
    bool says_nothing = false;  ///< always the same, or empty; private
    /// Private: how many values are numbers with a decimal comma; are one word among numbers; and are each of the words
    /// that are taken for none, but for those of punctuation alone.
    std::size_t decimal_commas = 0, words_among_numbers = 0;
    std::vector<std::pair<std::string, std::size_t>> taken_for_none = {};
    std::string seen = {};  ///< private: what kind of values, and how many
    std::string type = {};  ///< private: as column_watch suggests it
    /// Of a column whose type the owner says: what that is. Private: how many values it has, and how many of these the
    /// type has not.
    std::string declared = {};
    std::size_t values = 0, beyond_type = 0;
};

struct survey {
    data_kind kind = data_kind::text;
    bool has_text = false;              ///< JSON lines with the record under "text": no template is needed
    bool has_chats = false;             ///< JSON lines with a conversation under "messages": the model's is used
    char delimiter = ',';               ///< of a table
    std::size_t records = 0;            ///< private
    std::vector<column_facts> columns;  ///< in the file's order; none of plain text

    const column_facts* find(column_role role) const;
    /// Columns that by their name say whose a record is, which it is, or who somebody is.
    std::vector<const column_facts*> identifiers() const;
    std::optional<std::string> target;  ///< as the owner says
};

/// What values suggest; private.
struct profile_advice {
    std::optional<std::string> person;     ///< says whose a record is, for its values repeat
    std::optional<std::string> target;     ///< could be guessed from the others
    std::vector<std::string> say_nothing;  ///< rendered, and always the same or empty
};
profile_advice advise_columns(const survey& found);

/// What the owner of the file says of it.
struct profile_hints {
    std::optional<std::string> person;       ///< a column; "none": each record is protected by itself
    std::optional<std::string> target = {};  ///< a column, or "none"
    std::vector<std::string> left_out = {};  ///< columns
    std::vector<std::string> kept = {};      ///< identifiers that are rendered all the same
    /// Types of columns: "sex=category:female,male", "age=integer:0:120", "price=number:0:100:0.01" (the step),
    /// "seen=date:2019-01-01:2024-12-31", "icd=code:[A-Z][0-9]{2}", "note=text:200". A category that has a comma or
    /// begins with a quote stands in quotes, as in a table's file.
    std::vector<std::string> types = {};
};

/// Reads the whole file. Errors: bad_input as open_records, for a hint that is no column, and a type that is none.
survey profile_data(const std::string& path, const profile_hints& hints);

/// A template of config/narrative-diamonds.json's kind for what was found, as JSON text, with a schema of the columns
/// that are told and the types that the owner says. Only for tables, and for JSON lines without "text". Errors:
/// bad_input for a type that is none, or whose column is not told.
std::string template_for(const survey& found, const std::string& path, const std::vector<std::string>& types = {});

}  // namespace rldp::data
