#include "data/chat/escapes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "data/chat/allowance.hpp"

namespace rldp::data::jinja {

namespace {

void add_utf8(std::string& out, std::uint32_t code) {
    const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

/// What a single letter stands for, or 0.
char simple_escape(char letter) {
    static constexpr std::string_view letters = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
    const auto which = letters.find(letter);
    return which == std::string_view::npos ? '\0' : meanings[which];
}

/// Reads the digits of a number that names a code point; gives how many bytes they are.
std::size_t add_code_point(std::string& out, std::string_view digits, int base, std::size_t needed) {
    std::uint32_t code = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
    const auto read = static_cast<std::size_t>(end - digits.data());
    if (problem != std::errc() || read < needed || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        throw fault("an escape in a text names no character");
    add_utf8(out, code);
    return read;
}

}  // namespace

std::string unescaped(std::string_view literal) {
    std::string out;
    for (std::size_t i = 0; i < literal.size(); ++i) {
        if (literal[i] != '\\') {
            out += literal[i];
            continue;
        }
        const char letter = literal[++i];  // the lexer leaves no backslash alone
        const auto digits = [&](std::size_t most) { return literal.substr(i + 1).substr(0, most); };
        if (letter == '\n') continue;
        if (const char meant = simple_escape(letter); meant != '\0')
            out += meant;
        else if (letter == 'x')
            i += add_code_point(out, digits(2), 16, 2);
        else if (letter == 'u')
            i += add_code_point(out, digits(4), 16, 4);
        else if (letter == 'U')
            i += add_code_point(out, digits(8), 16, 8);
        else if (letter >= '0' && letter <= '7')
            i += add_code_point(out, literal.substr(i, 3), 8, 1) - 1;
        else if (letter == 'N' || static_cast<unsigned char>(letter) >= 0x80)
            throw fault("an escape in a text is not supported; write the character itself");
        else
            out.append({'\\', letter});
    }
    return out;
}

}  // namespace rldp::data::jinja
