#pragma once
// Whose message each byte of a rendered conversation is from, and where its answers stand.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "data/chat/chat_template.hpp"

namespace rldp::data {

// Owners. A template is run again on messages whose characters stand for their message: where it writes the same
// otherwise, those characters tell whose message each byte is from.

/// For each byte of a text the number of its message, from 1; 0 where it is the template's own, or not known.
using byte_owners = std::vector<std::uint32_t>;

/// The messages with a character of their own in place of each of theirs, but for white space and for what the
/// template may look for: `literals`. None where there are too many messages for that.
std::vector<chat_message> make_shadows(std::span<const chat_message> messages,
                                       const std::vector<std::string>& literals);

/// Of `text`, given what its template makes of the shadows. Nothing where that is no other text with the same template.
std::optional<byte_owners> find_owners(std::string_view text, std::string_view shadow);

// Answers. Where those of a conversation stand in its text.

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
