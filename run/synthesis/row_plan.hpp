#pragma once
// How rows are made: what of a row's text is given, and where a value is to be chosen from what.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/grammar/language.hpp"
#include "data/grammar/vocabulary.hpp"
#include "data/sources/narrative.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::actors {

/// Values that are given instead of chosen, by column.
using given_cells = std::map<std::string, std::string, std::less<>>;

/// What may stand for a column's value. A blank in front of a value belongs to it, as tokenizers cut texts.
struct column_values {
    std::size_t number = 0;                                 ///< of all such
    std::size_t column = 0;                                 ///< of the schema
    data::language values;                                  ///< in bytes
    std::map<std::string, std::string, std::less<>> cells;  ///< what is told -> the table's cell, where that is listed
    /// What stands around all other values; nothing where all are listed.
    struct frame {
        std::string before, after;
    };
    std::optional<frame> around = {};
    bool is_text = false;                    ///< ends where the words that follow come first
    bool decimal_comma = false;              ///< of cells
    std::vector<std::string> examples = {};  ///< what may be told
    std::string after = {};                  ///< words that always follow
};

/// Where a value is chosen, and the words that follow it; a token of the value ends where the value ends at the latest.
struct value_slot {
    std::shared_ptr<const column_values> of;
    std::string after_text;                ///< up to the next slot
    std::vector<std::int32_t> after = {};  ///< its tokens; empty behind the last slot where nothing follows
    std::size_t ending = 0;                ///< how many of those end a free text; the others are given then
    std::string ending_text = {};
};

/// What all rows of a table have in common.
struct table_plan {
    data::row_template how;
    std::vector<std::string> columns;  ///< of the schema, in order
    data::vocabulary tokens;
};

struct row_plan {
    std::shared_ptr<const table_plan> table;
    std::vector<std::optional<std::string>> given;  ///< cells, by column
    std::string opening_text;
    std::vector<std::int32_t> opening;  ///< tokens that the row begins with; not empty
    std::vector<value_slot> slots;      ///< in the text's order; none where every cell is given
    std::int64_t most_tokens = 0;       ///< behind the opening
};

/// Plans rows of one table. Not for several threads at once.
class row_planner {
  public:
    /// `how` has a schema and needs no code book (publish_template). `bos`, where the model has one, begins a text
    /// without opening words; a row has `window` tokens at most. Keeps a reference to `words`.
    row_planner(const data::row_template& how, const models::tokenizer& words, std::optional<std::int64_t> bos,
                std::int64_t window);
    ~row_planner();
    row_planner(const row_planner&) = delete;
    row_planner& operator=(const row_planner&) = delete;

    const table_plan& table() const;
    /// Cells by column of the schema, as a plan has them. `place` is where they were written, for messages. Errors:
    /// bad_input for a column that the schema lacks, or a value that its type does not allow.
    std::vector<std::optional<std::string>> check_given(const given_cells& given, const std::string& place) const;
    /// Errors: bad_input for values that are told alike, free text without an end, a value that no token spells, or
    /// rows that are longer than the window.
    row_plan plan(const std::vector<std::optional<std::string>>& given);

  private:
    class state;
    std::unique_ptr<state> state_;
};

/// The plan of all rows that have these cells. Errors: as row_planner; bad_input where every column is given.
row_plan plan_rows(const data::row_template& how, const given_cells& given, const models::tokenizer& words,
                   std::optional<std::int64_t> bos, std::int64_t window);

}  // namespace rldp::actors
