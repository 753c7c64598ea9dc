#include "data/chat/owners.hpp"

#include <algorithm>

#include "data/chat/python_text.hpp"

namespace rldp::data {

namespace {

constexpr std::size_t most_messages = 0xfffd;  // code points of Unicode's plane 15, which is for private use

std::string make_owner_character(std::size_t owner) {
    const auto low = [&](unsigned shift) { return static_cast<char>(0x80 | (owner >> shift & 0x3f)); };
    return {'\xf3', static_cast<char>(0xb0 | owner >> 12), low(6), low(0)};
}

std::uint32_t read_owner(std::string_view character) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(character[at] & 0xff); };
    if (character.size() != 4 || byte(0) != 0xf3 || byte(1) < 0xb0) return 0;
    return (byte(1) & 0xf) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

/// The bytes of `text` that belong to a literal.
std::vector<bool> literal_bytes(std::string_view text, const std::vector<std::string>& literals) {
    std::vector<bool> out(text.size());
    for (const auto& literal : literals)
        for (auto at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + 1))
            std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(at), literal.size(), true);
    return out;
}

std::string make_shadow(std::string_view text, std::size_t owner, const std::vector<std::string>& literals) {
    const auto kept = literal_bytes(text, literals);
    const auto shadow = make_owner_character(owner);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto character = jinja::first_character(text.substr(at));
        out += kept[at] || jinja::is_space(character) ? character : std::string_view(shadow);
        at += character.size();
    }
    return out;
}

}  // namespace

std::vector<chat_message> make_shadows(std::span<const chat_message> messages, const std::vector<std::string>& literals) {
    std::vector<chat_message> out;
    if (messages.size() > most_messages) return out;
    for (const auto& [role, content] : messages) out.push_back({role, make_shadow(content, out.size() + 1, literals)});
    return out;
}

std::optional<byte_owners> find_owners(std::string_view text, std::string_view shadow) {
    byte_owners out;
    while (!text.empty() && !shadow.empty()) {
        const auto written = jinja::first_character(text), traced = jinja::first_character(shadow);
        const auto owner = read_owner(traced);
        if (owner == 0 && written != traced) return std::nullopt;
        out.insert(out.end(), written.size(), owner);
        text.remove_prefix(written.size());
        shadow.remove_prefix(traced.size());
    }
    if (!text.empty() || !shadow.empty()) return std::nullopt;
    return out;
}

}  // namespace rldp::data
