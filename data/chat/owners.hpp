#pragma once
// Whose message each byte of a rendered conversation is from. A template is run again on messages whose characters
// stand for their message: where it writes the same otherwise, those characters tell.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_template.hpp"

namespace rldp::data {

/// For each byte of a text the number of its message, from 1; 0 where it is the template's own, or not known.
using byte_owners = std::vector<std::uint32_t>;

/// The messages with a character of their own in place of each of theirs, but for white space and for what the
/// template may look for: `literals`. None where there are too many messages for that.
std::vector<chat_message> make_shadows(std::span<const chat_message> messages, const std::vector<std::string>& literals);

/// Of `text`, given what its template makes of the shadows. Nothing where that is no other text with the same template.
std::optional<byte_owners> find_owners(std::string_view text, std::string_view shadow);

}  // namespace rldp::data
