#pragma once
// What the tokens of records are: the ends of answers, and those that carry values.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "data/units/load_tokens.hpp"
#include "eval/held_out.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::actors {

// Ends of answers. Whether a chat template's answers end with a token, without which a model that learns them does not
// learn to stop.

/// What is to be said where an answer of the template of the model in that directory ends without a token that the
/// tokenizer takes whole or the model stops at. Found with a made-up conversation: it tells of no record. Nothing where
/// the template refuses that.
std::optional<std::string> endless_answers(const std::filesystem::path& model, const data::chat_template& how,
                                           const models::tokenizer& words);

// Held-out records. As the evaluator wants them, and which tokens of a record carry values.

/// Marks every token that shares a byte with a value or an answer, however little, but for those that an answer shares
/// with a word beside it: no word of a question is learned. Where the tokenizer changes texts, none.
void mark_values(const data::record& rendered, const models::tokenizer& words, std::vector<std::int32_t>& tokens);

/// Whether any of them has a marked token to predict.
bool has_answer(const std::vector<models::sequence>& sequences);

struct held_out_rule {
    const models::tokenizer& words;
    std::int64_t max_tokens = 0;
    std::optional<std::string> target = {};                ///< eval.target
    std::optional<std::vector<std::string>> classes = {};  ///< eval.classes
    bool answers_only = false;                             ///< data.chat
    bool refuses =
        true;  ///< what the records don't allow; else it is left out without a word, for that would tell of them
};

/// Errors: bad_input for a target that is no column of the template, or has more than 64 values, and where records are
/// cut: a longer value would push other words out, and likelihoods of different texts can't be compared; also where
/// answers alone are predicted and there is none.
eval::held_out make_held_out(const data::held_out_side& side, const held_out_rule& how);

}  // namespace rldp::actors
