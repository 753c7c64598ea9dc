#include "config/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "config/base/error.hpp"
#include "config/base/strict_json.hpp"

namespace rldp::config {

namespace {

/// Without the library's prefix, "[json.exception…] parse error at …: ", and on one printable line.
std::string reason(std::string text) {
    for (const std::string_view mark : {"] ", "column "})
        if (const auto at = text.find(mark); at != std::string::npos) text.erase(0, at + mark.size());
    if (const auto digits = text.find_first_not_of("0123456789"); digits > 0 && text.compare(digits, 2, ": ") == 0)
        text.erase(0, digits + 2);
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    return text;
}

/// "line 3, column 7" of the byte that the parser stopped at, which counts from 1.
std::string place(const std::string& text, std::size_t byte) {
    const auto before = std::string_view(text).substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    return fmt::format("line {}, column {}", line,
                       before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

/// What keeps the order of keys takes time that grows with the square of their number: half a second for a text as long
/// as this.
constexpr std::size_t most_bytes = 256 << 10;

json parse_json(const std::string& text, const std::string& origin) {
    if (text.size() > most_bytes)
        refuse(fmt::format("{}: {} bytes; a configuration has at most {}", origin, text.size(), most_bytes));
    const auto flaw = flaw_of(text);
    if (!flaw) return json::parse(text);
    switch (flaw->what) {
        case json_flaw::kind::repeated_key:
            refuse(fmt::format("{}: {} appears twice; keep one of the two", origin, flaw->path));
        case json_flaw::kind::number:
            refuse(fmt::format("{}: {}: {}; write a number that a double holds", origin, flaw->path,
                               reason(flaw->reason)));
        default:
            refuse(fmt::format("{}: {}: not JSON: {}", origin, place(text, flaw->byte), reason(flaw->reason)));
    }
}

}  // namespace

json parse_object(const std::string& text, const std::string& origin) {
    auto document = parse_json(text, origin);
    if (!document.is_object())
        refuse(fmt::format(R"({}: holds {}; write an object such as {{"train": {{"steps": 100}}}})", origin,
                           shown(document)));
    return document;
}

json parse_override(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        refuse(fmt::format("--set {}: not of the form key=value; write, for example, --set train.steps=100", text));
    const auto value = text.substr(equals + 1);
    const bool structure = value.find_first_of("{[\"") == 0;
    auto nested = structure || json::accept(value) ? parse_json(value, "--set " + text) : json(value);

    auto path = text.substr(0, equals);
    for (auto dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
        nested = json{{path.substr(dot + 1), std::move(nested)}};
        path.erase(dot);
    }
    return json{{path, std::move(nested)}};
}

}  // namespace rldp::config
