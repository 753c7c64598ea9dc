#pragma once
// What exec and posix_spawn take, made of strings.
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

namespace rldp {

/// This process's environment with these variables in place of its own.
inline std::vector<std::string> environment_with(const std::map<std::string, std::string>& own) {
    std::vector<std::string> out;
    for (const auto& [name, value] : own) out.push_back(name + "=" + value);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (!own.contains(text.substr(0, text.find('=')))) out.push_back(text);
    }
    return out;
}

/// Null at the end. They point into `texts`.
inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (auto& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

}  // namespace rldp
