#pragma once
// Texts without a form: records that were text or conversations. A conversation's own words are given, what its members
// say is drawn.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "data/grammar/vocabulary.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "run/synthesis/row_sampler.hpp"

namespace rldp::actors {

struct text_script {
    /// Words that are given, and what is drawn behind them, of so many tokens at most.
    struct part {
        std::vector<std::int32_t> given;
        std::int64_t most = 0;
    };
    std::vector<part> parts;
    std::vector<std::int32_t> stops;    ///< tokens that end what is drawn; in rising order
    std::vector<std::int32_t> allowed;  ///< tokens that may be drawn: stops, and those that spell something
    std::shared_ptr<const data::vocabulary> tokens;
    bool one_line = false;  ///< what is drawn ends with its line, too
    std::int64_t longest() const;
};

struct text_rule {
    std::optional<std::int64_t> bos = {};
    std::vector<std::int64_t> stops = {};
    std::int64_t most_tokens = 0;  ///< of a record
    bool one_line = false;
};

/// A record of text. Errors: bad_input where the model has no token to begin with.
text_script make_text_script(const models::tokenizer& words, const text_rule& how);
/// A conversation of so many questions, each with its answer; the tokens are divided among them. Errors: bad_input for
/// a template that does not write what is said as it is, one after the other, or where no tokens are left.
text_script make_talk_script(const models::tokenizer& words, const data::chat_template& chat, std::int64_t questions,
                             const text_rule& how);

/// Its cells are what was drawn, part by part: UTF-8, none of it empty. Keeps references.
std::unique_ptr<drawing> draw_text(const text_script& script, const row_model& model, const row_sampling& how,
                                   std::uint64_t number);

}  // namespace rldp::actors
