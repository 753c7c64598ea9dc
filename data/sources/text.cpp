#include "data/sources/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/utf8.hpp"

namespace rldp::data {

namespace {

/// Position of the first byte that is not part of UTF-8 text, npos if all is well.
std::size_t first_invalid(std::string_view s) {
    for (std::size_t at = 0; at < s.size();) {
        const auto length = utf8_length(s.substr(at));
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

}  // namespace

void refuse_at(const std::string& file, std::size_t line, const std::string& what) {
    refuse(fmt::format("{}:{}: {}", file, line, what));
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t") == std::string_view::npos;
}

std::string checked_text(std::string bytes, const std::string& file) {
    if (bytes.starts_with("\xEF\xBB\xBF")) bytes.erase(0, 3);
    if (bytes.empty()) refuse(file + ": the file is empty");
    return checked_utf8(std::move(bytes), file, 1);
}

std::string checked_utf8(std::string bytes, const std::string& file, std::size_t first) {
    const auto bad = std::min(first_invalid(bytes), bytes.find('\0'));
    if (bad == std::string::npos) return bytes;
    const auto lines = std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    refuse_at(file, first + static_cast<std::size_t>(lines),
              bytes[bad] == '\0'
                  ? "a zero byte, which UTF-8 has none of; where the file is UTF-16, convert it (iconv -f UTF-16 -t "
                    "UTF-8), else export it anew"
                  : "invalid UTF-8; convert the file to UTF-8 (iconv -f WINDOWS-1252 -t UTF-8, where it is Latin-1)");
}

std::vector<text_line> split_lines(std::string_view text, std::size_t first) {
    std::vector<text_line> out;
    for (auto number = first; !text.empty(); ++number) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!is_blank(line)) out.push_back({line, number});
    }
    return out;
}

std::vector<record> read_lines(const std::string& path) {
    const auto text = checked_text(read_file(path), path);
    std::vector<record> out;
    for (const auto& line : split_lines(text)) out.push_back({std::string(line.text), {}, {}});
    return out;
}

}  // namespace rldp::data
