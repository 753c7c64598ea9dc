#pragma once
// Records as training will see them, for their owner's eyes: what a template made of them, their tokens, where they are
// cut. No model is needed, only its tokenizer. All of it is private.
#include <cstdint>
#include <string>
#include <vector>

#include "config/spec.hpp"
#include "data/sources/text.hpp"

namespace rldp::actors {

struct previewed_record {
    std::string text;
    std::int64_t tokens = 0, value_tokens = 0;
    text_range kept;                 ///< bytes of the text that remain, of a record that is cut; else all
    std::vector<text_range> values;  ///< bytes that the table's values made, or answers, in order
    bool cut = false;
};

struct preview {
    std::vector<previewed_record> records;  ///< the first ones of the file
    bool chat = false;                      ///< values are the assistant's answers
    std::int64_t max_tokens = 0;
    /// Of the file's first records, up to a few thousand.
    std::int64_t looked_at = 0, cut = 0, median_tokens = 0, most_tokens = 0;
    std::int64_t p95_tokens = 0;        ///< 95 of 100 are no longer
    std::vector<std::int64_t> lengths;  ///< in tokens, ascending
    std::vector<std::string> warnings;
};

/// How many of those are longer than `most`.
std::int64_t longer_than(std::int64_t most, const std::vector<std::int64_t>& lengths);

/// `count`: records to show. Errors: bad_input as a run's.
preview make_preview(const config::reading_spec& spec, std::size_t count);

}  // namespace rldp::actors
