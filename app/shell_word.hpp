#pragma once
// A word as a shell reads it back, for commands that are proposed.
#include <string>

namespace rldp::app {

inline std::string shell_word(const std::string& word) {
    const auto plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

}  // namespace rldp::app
