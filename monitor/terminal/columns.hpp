#pragma once
// Only for sources. Text in columns of a terminal: UTF-8 whose characters are taken for one column wide each.
#include <cstddef>
#include <string>
#include <string_view>

namespace rldp::monitor {

inline bool begins_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

inline std::size_t columns(std::string_view text) {
    std::size_t out = 0;
    for (const char c : text) out += begins_character(c) ? 1 : 0;
    return out;
}

/// What of `text` fits, from its beginning.
inline std::string fitting(std::string_view text, std::size_t width) {
    std::size_t end = 0, seen = 0;
    for (; end < text.size(); ++end)
        if (begins_character(text[end]) && ++seen > width) break;
    return std::string(text.substr(0, end));
}

/// A name in at most `width` columns, at least one. Its end stays: it tells cells of a grid apart.
inline std::string fitting_name(std::string_view name, std::size_t width) {
    auto left = columns(name);
    if (left <= width) return std::string(name);
    std::size_t begin = 0;
    for (; begin < name.size(); ++begin)
        if (begins_character(name[begin]) && left-- < width) break;
    return "…" + std::string(name.substr(begin));
}

}  // namespace rldp::monitor
