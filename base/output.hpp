#pragma once
// What is said to people, on standard output or error. Output is never worth a run: a full disk or a closed pipe behind
// it ends nothing. Whether standard output took everything is asked once, at the end (app/command_line.cpp).
//
// Texts may come from a file that somebody wrote: whatever is put into a sentence stays on its line, and no terminal
// obeys it.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/text.hpp"

namespace rldp {

/// What a terminal shall obey: of ours, never of a file.
struct terminal_control {
    const char* sequence;
};

namespace detail {

/// A text as it may stand in a line; anything else as it is.
template <class T>
auto in_a_line(const T& value) {
    if constexpr (std::is_same_v<T, terminal_control>)
        return std::string_view(value.sequence);
    else if constexpr (std::is_convertible_v<const T&, std::string_view>)
        return printable(std::string(std::string_view(value)));
    else
        return value;
}

template <class... Args>
std::string format_line(std::string_view text, const Args&... args) {
    return fmt::vformat(text, fmt::make_format_args(args...));
}

inline void write_out(std::FILE* to, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace detail

template <class... Args>
void say(std::FILE* to, fmt::format_string<Args...> text, Args&&... args) {
    const auto format = fmt::string_view(text);
    detail::write_out(to, detail::format_line({format.data(), format.size()}, detail::in_a_line(args)...));
}

template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
    say(stdout, text, std::forward<Args>(args)...);
}

/// A text of several lines: tables, JSON, what a model wrote.
inline void say_text(std::string_view text, std::FILE* to = stdout) {
    detail::write_out(to, printable_lines(std::string(text)));
}

}  // namespace rldp

template <>
struct fmt::formatter<rldp::terminal_control> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(const rldp::terminal_control& what, Context& context) const {
        return fmt::formatter<std::string_view>::format(what.sequence, context);
    }
};
