#pragma once
// Text, byte by byte: ranges of it, what of it may be shown, UTF-8, lower case, distance.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rldp {

/// Bytes [begin, end) of a text.
struct text_range {
    std::size_t begin, end;
    bool operator==(const text_range&) const = default;
};

// Printable text. It may stand on a terminal and in a sentence. A file's text can hold line ends, escape codes and
// marks that turn the direction of writing: with them it forges what a program seems to say.

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

// UTF-8. Which bytes are text, and how others are shown where text is asked for: a name in a file system may be any
// bytes.

/// Length of the UTF-8 sequence at the start of `text`, 0 if it is none or `text` is empty (Unicode 15, table 3-7).
inline std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto lead = byte(0);
    if (lead < 0x80) return text.empty() ? 0 : 1;
    const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    const auto second = byte(1);
    if (lead == 0xE0 && second < 0xA0) return 0;   // overlong
    if (lead == 0xED && second >= 0xA0) return 0;  // surrogate
    if (lead == 0xF0 && second < 0x90) return 0;   // overlong
    if (lead == 0xF4 && second >= 0x90) return 0;  // beyond U+10FFFF
    return length;
}

inline bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

/// Text that is UTF-8 as it is; other bytes and control characters (C0, DEL, C1) as \xNN. For what must be text: JSON,
/// metrics, pages.
inline std::string shown_text(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto byte = static_cast<unsigned char>(text.front());
        const bool control = byte < 0x20 || byte == 0x7f ||
                             (byte == 0xC2 && text.size() > 1 && (static_cast<unsigned char>(text[1]) & 0xE0) == 0x80);
        const auto length = control ? 0 : utf8_length(text);
        if (length > 0)
            out += text.substr(0, length);
        else
            out.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
        text.remove_prefix(length > 0 ? length : 1);
    }
    return out;
}

inline std::string shown_path(const std::filesystem::path& path) {
    return shown_text(path.native());
}

/// ASCII letters in lower case, all else as it is.
inline std::string lower_case(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

// Distance. For "did you mean …?".

/// Levenshtein's distance, bytes.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row.back();
}

}  // namespace rldp
