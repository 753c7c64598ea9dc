#pragma once
// Words of a command line: numbers, and what a shell reads back.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace rldp::app {

// Numbers. Read strictly, printed shortly.

/// Errors: bad_input naming `what` for anything but one whole finite number.
inline double parse_number(const std::string& what, const std::string& text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc() || stop != end || !std::isfinite(value))
        refuse(fmt::format("{}: \"{}\" is no finite number", what, text));
    return value;
}

/// A whole number from 1 to 10^12, 1e5 too.
inline std::int64_t parse_count(const std::string& what, const std::string& text) {
    const double value = parse_number(what, text);
    if (!(value >= 1 && value <= 1e12 && value == std::floor(value)))
        refuse(fmt::format("{}: {} must be a whole number from 1 to 10^12", what, text));
    return static_cast<std::int64_t>(value);
}

/// For people: "inf" where infinite.
inline std::string show(double value) {
    return fmt::format("{:.6g}", value);
}

// Shell words. A word as a shell reads it back, for commands that are proposed.

inline std::string shell_word(const std::string& word) {
    const auto plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

}  // namespace rldp::app
