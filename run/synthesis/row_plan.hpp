#pragma once
// How rows are made: what of a row's text is given, and where a value is to be chosen from what.
#include <cstdint>
#include <map>
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

/// Where a value is chosen, and the words that follow it. A blank in front of a value belongs to it, as tokenizers cut
/// texts; a token of the value ends where the value ends at the latest.
struct value_slot {
    std::size_t column = 0;                                 ///< of the schema
    data::language values;                                  ///< what may stand here, in bytes
    std::map<std::string, std::string, std::less<>> cells;  ///< what is told -> the table's cell, where that is listed
    /// What stands around all other values; nothing where all are listed.
    struct frame {
        std::string before, after;
    };
    std::optional<frame> around = {};
    bool is_text = false;                  ///< ends where the words that follow come first
    bool decimal_comma = false;            ///< of cells
    std::string after_text;                ///< up to the next slot
    std::vector<std::int32_t> after = {};  ///< its tokens; empty behind the last slot where nothing follows
};

struct row_plan {
    data::row_template how;
    std::vector<std::string> columns;               ///< of the schema, in order
    std::vector<std::optional<std::string>> given;  ///< cells that all rows have, by column
    std::string opening_text;
    std::vector<std::int32_t> opening;  ///< tokens that all rows begin with; not empty
    std::vector<value_slot> slots;      ///< in the text's order
    data::vocabulary tokens;
    std::int64_t most_tokens = 0;  ///< behind the opening
};

/// `how` has a schema and needs no code book (publish_template). `bos`, where the model has one, begins a text without
/// opening words. Errors: bad_input for a given column or value that the schema lacks, values that are told alike, free
/// text without an end, a value that no token spells, or rows that are longer than `window` tokens.
row_plan plan_rows(const data::row_template& how, const given_cells& given, const models::tokenizer& words,
                   std::optional<std::int64_t> bos, std::int64_t window);

}  // namespace rldp::actors
