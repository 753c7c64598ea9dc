#pragma once
// The values of keys: which ones a key takes, how JSON becomes one, and how JSON is read as a user writes it.
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/kinds.hpp"

namespace rldp::config {

// Domains. Which values a key takes, and how JSON becomes one. Every error text and the reference speak of a domain in
// its own words.

using json = nlohmann::ordered_json;

/// Finite numbers from `least` to `most`, each end part of it unless it is open.
struct interval {
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    bool least_open = false;
    bool most_open = false;

    bool contains(double x) const;
    std::string text() const;  ///< "(0, 1]"; "[1, ∞)"
};

inline interval above(double least) {
    return {.least = least, .least_open = true};
}
inline interval at_least(double least) {
    return {.least = least};
}
inline interval between(double least, double most) {
    return {.least = least, .most = most};
}

/// One of a few words.
struct words {
    std::vector<std::string> allowed;
};
template <named Value>
words any_of() {
    return {all_names<Value>()};
}

/// Text of a form that `matches` tells.
struct form {
    std::string description;
    bool (*matches)(const std::string&);
};

/// A path: made absolute and normal against the directory of whoever names it, unless `keep` says that it is no path.
struct location {
    std::string description;
    bool (*keep)(const std::string&) = nullptr;
};

struct yes_or_no {};

using domain = std::variant<yes_or_no, interval, words, form, location>;

/// Whether `value` has the type of `out` and lies in `allowed`; only then `out` is set. `base` is where relative paths
/// begin.
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, bool& out);
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, double& out);
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, std::int64_t& out);
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, std::string& out);
/// At least one element, none twice.
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, std::vector<std::string>& out);
/// One of the words that `allowed` has.
template <named Value>
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, Value& out) {
    std::string word;
    if (!assign(value, allowed, base, word)) return false;
    out = parse_named<Value>(word);
    return true;
}
template <named Value>
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, std::vector<Value>& out) {
    std::vector<std::string> all;
    if (!assign(value, allowed, base, all)) return false;
    out.clear();
    for (const auto& word : all) out.push_back(parse_named<Value>(word));
    return true;
}
/// null stands for the default.
template <class Value>
bool assign(const json& value, const domain& allowed, const std::filesystem::path& base, std::optional<Value>& out) {
    if (value.is_null()) {
        out.reset();
        return true;
    }
    Value inner{};
    if (!assign(value, allowed, base, inner)) return false;
    out = std::move(inner);
    return true;
}

/// What a key of this type and domain takes, for a reader: "a number in (0, 1]", "one of fixed, deck, filter".
std::string expectation(const domain& allowed, const bool&);
std::string expectation(const domain& allowed, const double&);
std::string expectation(const domain& allowed, const std::int64_t&);
std::string expectation(const domain& allowed, const std::string&);
std::string expectation(const domain& allowed, const std::vector<std::string>&);
template <named Value>
std::string expectation(const domain& allowed, const Value&) {
    return expectation(allowed, std::string());
}
template <named Value>
std::string expectation(const domain& allowed, const std::vector<Value>&) {
    return expectation(allowed, std::vector<std::string>());
}
template <class Value>
std::string expectation(const domain& allowed, const std::optional<Value>&) {
    return expectation(allowed, Value{});
}

/// The same as a JSON Schema (draft 2020-12).
json json_schema(const domain& allowed, const bool&);
json json_schema(const domain& allowed, const double&);
json json_schema(const domain& allowed, const std::int64_t&);
json json_schema(const domain& allowed, const std::string&);
json json_schema(const domain& allowed, const std::vector<std::string>&);
template <named Value>
json json_schema(const domain& allowed, const Value&) {
    return json_schema(allowed, std::string());
}
template <named Value>
json json_schema(const domain& allowed, const std::vector<Value>&) {
    return json_schema(allowed, std::vector<std::string>());
}
template <class Value>
json json_schema(const domain& allowed, const std::optional<Value>&) {
    return {{"anyOf", json::array({json_schema(allowed, Value{}), {{"type", "null"}}})}};
}

/// The inverse of assign.
template <class Value>
json written(const Value& value) {
    if constexpr (named<Value>)
        return name_of(value);
    else
        return value;
}
template <named Value>
json written(const std::vector<Value>& values) {
    json out = json::array();
    for (const auto value : values) out.push_back(name_of(value));
    return out;
}
template <class Value>
json written(const std::optional<Value>& value) {
    return value ? written(*value) : json(nullptr);
}

/// A value as a message quotes it: JSON on one line, cut at 40 bytes.
std::string shown(const json& value);

// Documents. JSON as a user writes it: strict syntax, no key twice, errors with line and column.

/// The object that `text` holds. Errors (bad_input): syntax with line and column; a key that appears twice; a number
/// that no double holds; anything but an object; more than 256 KiB. `origin` begins every message.
json parse_object(const std::string& text, const std::string& origin);

/// "train.lr=0.1" as {"train": {"lr": 0.1}}. A value that is no JSON counts as a string unless it begins like JSON's
/// structures. Errors: no "=", nothing before or after it.
json parse_override(const std::string& text);

}  // namespace rldp::config
