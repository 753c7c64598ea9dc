#pragma once
// Which bytes are text, and how others are shown where text is asked for: a name in a file system may be any bytes.
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace rldp {

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

}  // namespace rldp
