#pragma once
// The simplest encoder.
#include <cstdint>
#include <string>
#include <vector>

inline std::vector<std::int32_t> bytes_of(const std::string& text) {
    return {text.begin(), text.end()};
}
