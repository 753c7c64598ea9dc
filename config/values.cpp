#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/strict_json.hpp"
#include "base/system.hpp"
#include "base/text.hpp"
#include "config/values.hpp"

namespace rldp::config {

bool interval::contains(double x) const {
    if (!std::isfinite(x)) return false;
    return (least_open ? x > least : x >= least) && (most_open ? x < most : x <= most);
}

std::string interval::text() const {
    const auto end = [](double x) { return std::isinf(x) ? std::string(x < 0 ? "-∞" : "∞") : fmt::format("{}", x); };
    return fmt::format("{}{}, {}{}", least_open || std::isinf(least) ? '(' : '[', end(least), end(most),
                       most_open || std::isinf(most) ? ')' : ']');
}

bool assign(const json& value, const domain&, const std::filesystem::path&, bool& out) {
    if (!value.is_boolean()) return false;
    out = value.get<bool>();
    return true;
}

bool assign(const json& value, const domain& allowed, const std::filesystem::path&, double& out) {
    if (!value.is_number() || !std::get<interval>(allowed).contains(value.get<double>())) return false;
    out = value.get<double>();
    return true;
}

bool assign(const json& value, const domain& allowed, const std::filesystem::path&, std::int64_t& out) {
    if (!value.is_number()) return false;
    const auto number = value.get<double>();
    constexpr double beyond = 9223372036854775808.0;  // 2^63, the first that an int64 doesn't hold
    if (number != std::floor(number) || std::abs(number) >= beyond) return false;
    if (!std::get<interval>(allowed).contains(number)) return false;
    out = value.get<std::int64_t>();
    return true;
}

bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, std::string& out) {
    if (!value.is_string()) return false;
    const auto text = value.get<std::string>();
    if (!std::holds_alternative<location>(allowed) && !is_utf8(text)) return false;
    if (const auto* list = std::get_if<words>(&allowed)) {
        if (std::find(list->allowed.begin(), list->allowed.end(), text) == list->allowed.end()) return false;
    } else if (const auto* shape = std::get_if<form>(&allowed)) {
        if (!shape->matches(text)) return false;
    } else if (const auto* place = std::get_if<location>(&allowed)) {
        if (!text.empty() && !(place->keep && place->keep(text))) {
            auto path = (base / with_home(text)).lexically_normal();
            if (!path.has_filename()) path = path.parent_path();  // "model/" and "model" are one directory
            out = path.string();
            return true;
        }
    }
    out = text;
    return true;
}

bool assign(const json& value, const domain& allowed, const std::filesystem::path& base,
            std::vector<std::string>& out) {
    if (!value.is_array() || value.empty()) return false;
    std::vector<std::string> list;
    for (const auto& element : value) {
        std::string text;
        if (!assign(element, allowed, base, text) || std::find(list.begin(), list.end(), text) != list.end())
            return false;
        list.push_back(std::move(text));
    }
    out = std::move(list);
    return true;
}

std::string expectation(const domain&, const bool&) {
    return "true or false";
}

std::string expectation(const domain& allowed, const double&) {
    return "a number in " + std::get<interval>(allowed).text();
}

std::string expectation(const domain& allowed, const std::int64_t&) {
    return "a whole number in " + std::get<interval>(allowed).text();
}

std::string expectation(const domain& allowed, const std::string&) {
    if (const auto* list = std::get_if<words>(&allowed))
        return fmt::format("one of {}", fmt::join(list->allowed, ", "));
    if (const auto* shape = std::get_if<form>(&allowed)) return shape->description;
    return std::get<location>(allowed).description;
}

std::string expectation(const domain& allowed, const std::vector<std::string>&) {
    if (const auto* list = std::get_if<words>(&allowed))
        return fmt::format("a list of some of {}, none twice", fmt::join(list->allowed, ", "));
    return fmt::format("a list of {}, none twice", expectation(allowed, std::string()));
}

namespace {

json number_schema(const char* type, const interval& range) {
    json out = {{"type", type}};
    if (std::isfinite(range.least)) out[range.least_open ? "exclusiveMinimum" : "minimum"] = range.least;
    if (std::isfinite(range.most)) out[range.most_open ? "exclusiveMaximum" : "maximum"] = range.most;
    return out;
}

}  // namespace

json json_schema(const domain&, const bool&) {
    return {{"type", "boolean"}};
}

json json_schema(const domain& allowed, const double&) {
    return number_schema("number", std::get<interval>(allowed));
}

json json_schema(const domain& allowed, const std::int64_t&) {
    return number_schema("integer", std::get<interval>(allowed));
}

json json_schema(const domain& allowed, const std::string&) {
    if (const auto* list = std::get_if<words>(&allowed)) return {{"enum", list->allowed}};
    return {{"type", "string"}};
}

json json_schema(const domain& allowed, const std::vector<std::string>&) {
    return {{"type", "array"}, {"items", json_schema(allowed, std::string())}, {"minItems", 1}, {"uniqueItems", true}};
}

std::string shown(const json& value) {
    constexpr std::size_t longest = 40;
    auto text = value.dump(-1, ' ', true, json::error_handler_t::replace);  // ASCII: a cut splits no character
    if (text.size() > longest) text = text.substr(0, longest) + "…";
    return text;
}

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
