#pragma once
// The stages of a tokenizer.json around its model: normalizer, pre-tokenizer, decoder. Internal to the tokenizers.
#include <functional>
#include <string>
#include <vector>

#include "models/tokenizer/reader.hpp"

namespace rldp::models {

/// Changes a text in place; `at_start` says that it begins the whole text.
using normalizer = std::function<void(std::string& text, bool at_start)>;
/// Cuts pieces into smaller ones; `at_start` says that the first piece begins the whole text.
using splitter = std::function<void(std::vector<std::string>& pieces, bool at_start)>;
/// Turns the tokens of a sequence into its text, which the last stage leaves as one or more parts to be joined.
using decoder = std::function<void(std::vector<std::string>& tokens)>;

struct pre_tokenizer {
    std::vector<splitter> steps;
    bool byte_level = false;  ///< words go to the model as bytes
    bool gpt2_alone = false;  ///< the only step is GPT-2's split into words
};

/// Each takes the section of that name and appends to `out`. Errors: bad_input naming a kind that is not supported,
/// too many steps, or steps that together could make a text 64 times as long.
void read_normalizer(const json_at& section, std::vector<normalizer>& out);
void read_pre_tokenizer(const json_at& section, pre_tokenizer& out);
void read_decoder(const json_at& section, std::vector<decoder>& out);

decoder byte_level_decoder();

}  // namespace rldp::models
