#pragma once
// Where the answers of a conversation stand in its text.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/base/text_range.hpp"
#include "data/chat/chat_template.hpp"

namespace rldp::data {

/// A conversation, and how its template writes it or how it begins, with a prompt for an answer or without.
struct written_talk {
    std::span<const chat_message> messages;
    std::function<std::string(std::span<const chat_message>, bool add_generation_prompt)> render;
    const std::vector<std::string>& literals;  ///< what the template may look for in a message
};

/// `marked` with the template's {% generation %} blocks as ranges of `text`, which is the same without marks. Errors:
/// bad_input without the template's name, where it is not, or where a block holds what a user or the system said.
std::vector<text_range> generated_answers(const written_talk& talk, const std::string& text, const std::string& marked);

/// By what each answer adds to the messages before it and the prompt; see chat_template::conversation(). Errors:
/// bad_input without the template's name, where that is not known.
std::vector<text_range> added_answers(const written_talk& talk, const std::string& text);

}  // namespace rldp::data
