#pragma once
// Text that may stand on a terminal and in a sentence. A file's text can hold line ends, escape codes and marks that
// turn the direction of writing: with them it forges what a program seems to say.
#include <string>
#include <string_view>

namespace rldp {

namespace detail {

/// How many bytes at the text's beginning are to be hidden: control characters (C0, DEL, C1 in UTF-8) and marks of
/// direction (U+202A to U+202E, U+2066 to U+2069).
inline std::size_t hidden_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
    if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return 2;
    if (byte(0) != 0xe2) return 0;
    const bool turns = (byte(1) == 0x80 && byte(2) >= 0xaa && byte(2) <= 0xae) ||
                       (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
    return turns ? 3 : 0;
}

inline std::string without_hidden(std::string_view text, std::string_view allowed) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto hidden = allowed.find(text.front()) != std::string_view::npos ? 0 : hidden_bytes(text);
        out += hidden > 0 ? '?' : text.front();
        text.remove_prefix(hidden > 0 ? hidden : 1);
    }
    return out;
}

}  // namespace detail

/// On one line: each of them becomes '?'.
inline std::string printable(std::string_view text) {
    return detail::without_hidden(text, "");
}

/// On as many as there are.
inline std::string printable_lines(std::string_view text) {
    return detail::without_hidden(text, "\n\t");
}

}  // namespace rldp
