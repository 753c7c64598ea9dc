#pragma once
// What a budget book may be called (privacy.book): a name among the books of its owner's home, or a directory's path.
#include <algorithm>
#include <string>
#include <string_view>

namespace rldp {

inline constexpr std::string_view no_book = "none";
inline constexpr std::string_view found_book = "found";  ///< by how alike its units are

/// A path has a '/', a name has none.
inline bool is_book_path(std::string_view text) {
    return text.find('/') != std::string_view::npos;
}

inline bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

inline bool is_book_name(std::string_view text) {
    return !text.empty() && text.size() <= 100 && is_alphanumeric(text.front()) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

/// A file's bare name as that of a book: "our patients (new)" is our-patients-new.
inline std::string make_book_name(std::string_view bare) {
    std::string out;
    for (const char c : bare.substr(0, 60)) {
        const bool kept = is_alphanumeric(c) || c == '.' || c == '_';
        if (kept)
            out += c;
        else if (!out.empty() && out.back() != '-')
            out += '-';
    }
    while (!out.empty() && out.back() == '-') out.pop_back();
    while (!out.empty() && !is_alphanumeric(out.front())) out.erase(0, 1);
    return out.empty() || out == no_book || out == found_book ? "data" + (out.empty() ? out : "-" + out) : out;
}

}  // namespace rldp
