#pragma once
// What is said to people, on standard output or error. Output is never worth a run: a full disk or a closed pipe behind
// it ends nothing. Whether standard output took everything is asked once, at the end (app/command_line.cpp).
#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace rldp {

template <class... Args>
void say(std::FILE* to, fmt::format_string<Args...> text, Args&&... args) {
    const auto line = fmt::format(text, std::forward<Args>(args)...);
    std::fwrite(line.data(), 1, line.size(), to);
}

template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
    say(stdout, text, std::forward<Args>(args)...);
}

}  // namespace rldp
