#pragma once
// Numbers as half of Europe writes them: 1.234,5 for 1234.5.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace rldp::data {

inline bool is_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "1.234,5" as "1234.5"; none where that is no number of such a kind. With neither a comma nor points between groups
/// of three digits there is nothing to read.
inline std::optional<std::string> with_decimal_point(std::string_view text) {
    const auto sign = text.starts_with('-') || text.starts_with('+') ? 1U : 0U;
    const auto comma = std::min(text.find(','), text.size());
    auto whole = text.substr(sign, comma - sign);
    std::string out(text.substr(0, sign));
    const bool grouped = whole.find('.') != std::string_view::npos;
    if (!grouped && comma == text.size()) return std::nullopt;
    for (bool first = true; grouped && !whole.empty(); first = false) {
        const auto group = whole.substr(0, whole.find('.'));
        if (!is_digits(group) || group.size() > 3 || (!first && group.size() != 3)) return std::nullopt;
        out += group;
        whole.remove_prefix(std::min(whole.size(), group.size() + 1));
    }
    if (!grouped) {
        if (!is_digits(whole)) return std::nullopt;
        out += whole;
    }
    if (comma == text.size()) return out;
    const auto fraction = text.substr(comma + 1);
    if (!is_digits(fraction)) return std::nullopt;
    return out.append(".").append(fraction);
}

/// Digits, a sign before them and a point among them at most.
inline bool is_plain_number(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    const auto point = text.find('.');
    if (point == std::string_view::npos) return is_digits(text);
    return is_digits(text.substr(0, point)) && is_digits(text.substr(point + 1));
}

}  // namespace rldp::data
