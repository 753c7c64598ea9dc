#include "config/document.hpp"

#include <fmt/format.h>

#include "config/base/error.hpp"
#include "config/base/strict_json.hpp"

namespace rldp::config {

namespace {

/// What keeps the order of keys takes time that grows with the square of their number: half a second for a text as long
/// as this.
constexpr std::size_t most_bytes = 256 << 10;

json parse_json(const std::string& text, const std::string& origin) {
    if (text.size() > most_bytes)
        refuse(fmt::format("{}: {} bytes; a configuration has at most {}", origin, text.size(), most_bytes));
    if (const auto flaw = find_flaw(text)) refuse(origin + ": " + describe_flaw(*flaw, text));
    return json::parse(text);
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
