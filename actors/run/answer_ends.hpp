#pragma once
// Whether a chat template's answers end with a token, without which a model that learns them does not learn to stop.
#include <filesystem>
#include <optional>
#include <string>

#include "data/chat/chat_template.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::actors {

/// What is to be said where an answer of the template of the model in that directory ends without a token that the
/// tokenizer takes whole or the model stops at. Found with a made-up conversation: it tells of no record. Nothing where
/// the template refuses that.
std::optional<std::string> endless_answers(const std::filesystem::path& model, const data::chat_template& how,
                                           const models::tokenizer& words);

}  // namespace rldp::actors
