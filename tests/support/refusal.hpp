#pragma once
// What a bad input is answered with.
#include <string>

#include "base/error.hpp"

/// The one line of the bad_input that `act` throws; empty where it throws nothing.
template <class Act>
std::string refusal(Act&& act) {
    try {
        act();
    } catch (const rldp::error& failure) {
        const std::string line = failure.what();
        if (failure.code() != rldp::errc::bad_input) return "not a bad_input: " + line;
        return line.find('\n') == std::string::npos ? line : "several lines: " + line;
    }
    return {};
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
