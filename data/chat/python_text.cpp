#include "data/chat/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "data/chat/value.hpp"

namespace rldp::data::jinja {

namespace {

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char up(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

char down(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// `change(c, before)` of each character and the one before it, 0 at the head.
template <typename change_type>
std::string changed(std::string_view text, change_type change) {
    if (!is_ascii(text)) throw fault("the case of letters beyond ASCII can't be changed here");
    std::string out(text);
    for (std::size_t i = 0; i < text.size(); ++i) out[i] = change(text[i], i == 0 ? '\0' : text[i - 1]);
    return out;
}

}  // namespace

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string_view first_character(std::string_view text) {
    return text.substr(0, std::max<std::size_t>(1, utf8_length(text)));
}

std::string_view last_character(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && continues(text[begin])) --begin;
    const auto last = text.substr(begin);
    return utf8_length(last) == last.size() ? last : text.substr(text.size() - 1);
}

std::size_t count_characters(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); text.remove_prefix(first_character(text).size())) ++count;
    return count;
}

bool is_space(std::string_view character) {
    if (character.size() == 1) {
        const char c = character[0];
        return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20);
    }
    static constexpr std::array<std::string_view, 19> others = {
        "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
        "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
    return std::find(others.begin(), others.end(), character) != others.end();
}

std::string_view stripped(std::string_view text, ends which, const std::optional<std::string_view>& characters) {
    const auto goes = [&](std::string_view character) {
        return characters ? characters->find(character) != std::string_view::npos : is_space(character);
    };
    while (which != ends::right && !text.empty() && goes(first_character(text)))
        text.remove_prefix(first_character(text).size());
    while (which != ends::left && !text.empty() && goes(last_character(text)))
        text.remove_suffix(last_character(text).size());
    return text;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, std::int64_t most) {
    std::vector<std::string_view> out;
    for (std::size_t cut = 0; most != 0 && (cut = text.find(separator)) != std::string_view::npos; --most) {
        out.push_back(text.substr(0, cut));
        text.remove_prefix(cut + separator.size());
    }
    out.push_back(text);
    return out;
}

std::vector<std::string_view> split_words(std::string_view text, std::int64_t most) {
    std::vector<std::string_view> out;
    for (text = stripped(text, ends::left); !text.empty(); text = stripped(text, ends::left), --most) {
        if (most == 0) {
            out.push_back(text);
            break;
        }
        std::size_t end = 0;
        for (auto rest = text; !rest.empty() && !is_space(first_character(rest)); rest = text.substr(end))
            end += first_character(rest).size();
        out.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return out;
}

std::string upper(std::string_view text) {
    return changed(text, [](char c, char) { return up(c); });
}

std::string lower(std::string_view text) {
    return changed(text, [](char c, char) { return down(c); });
}

std::string capitalized(std::string_view text) {
    auto out = lower(text);
    if (!out.empty()) out[0] = up(out[0]);
    return out;
}

std::string title_of_method(std::string_view text) {
    return changed(text, [](char c, char before) { return is_letter(before) ? down(c) : up(c); });
}

std::string title_of_filter(std::string_view text) {
    return changed(text, [&](char c, char before) {
        const std::string_view one(&before, 1);
        const bool heads = before == '\0' || is_space(one) || std::string_view("-({[<").find(before) != one.npos;
        return heads ? up(c) : down(c);
    });
}

std::string written(double number) {
    auto out = fmt::format("{}", number);
    if (out.find_first_not_of("-0123456789") == std::string::npos) out += ".0";
    return out;
}

}  // namespace rldp::data::jinja
