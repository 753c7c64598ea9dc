#pragma once
// Which values a key takes, and how JSON becomes one. Every error text and the reference speak of a domain in its own
// words.
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rldp::config {

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
template <class Value>
json json_schema(const domain& allowed, const std::optional<Value>&) {
    return {{"anyOf", json::array({json_schema(allowed, Value{}), {{"type", "null"}}})}};
}

/// The inverse of assign.
template <class Value>
json written(const Value& value) {
    return value;
}
template <class Value>
json written(const std::optional<Value>& value) {
    return value ? json(*value) : json(nullptr);
}

/// A value as a message quotes it: JSON on one line, cut at 40 bytes.
std::string shown(const json& value);

}  // namespace rldp::config
