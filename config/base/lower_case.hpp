#pragma once
#include <string>

namespace rldp {

/// ASCII letters in lower case, all else as it is.
inline std::string lower_case(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

}  // namespace rldp
