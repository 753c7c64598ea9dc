#include "eval/grid/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "config/base/error.hpp"

namespace rldp::eval {
namespace {

// Follows JSON just far enough to tell which commas are outside of it.
std::vector<std::string> parts(const std::string& text) {
    std::vector<std::string> out(1);
    int depth = 0;
    bool quoted = false, escaped = false;
    for (const char c : text) {
        if (c == ',' && depth <= 0 && !quoted) {
            out.emplace_back();
            continue;
        }
        out.back() += c;
        if (quoted) {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return out;
}

template <class Number>
std::optional<Number> whole(const std::string& text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || stop != end) return std::nullopt;
    return value;
}

template <class Number>
void add_distinct(const std::string& option, std::vector<Number>& to, const Number& value, const std::string& text) {
    if (std::find(to.begin(), to.end(), value) != to.end())
        refuse(fmt::format("{}: {} is there twice; name each once", option, text));
    to.push_back(value);
}

}  // namespace

std::vector<std::string> distinct_list(const std::string& option, const std::string& text) {
    std::vector<std::string> out;
    for (const auto& part : parts(text)) {
        if (part.empty())
            refuse(fmt::format("{}: \"{}\" has an empty part; write a comma between two values", option, text));
        add_distinct(option, out, part, part);
    }
    return out;
}

std::vector<double> positive_list(const std::string& option, const std::string& text) {
    std::vector<double> out;
    for (const auto& part : distinct_list(option, text)) {
        const auto value = whole<double>(part);
        if (!value || !std::isfinite(*value) || *value <= 0)
            refuse(fmt::format("{}: {} is no finite number above 0", option, part));
        add_distinct(option, out, *value, part);
    }
    return out;
}

std::vector<std::int64_t> seed_list(const std::string& option, const std::string& text) {
    std::vector<std::int64_t> out;
    for (const auto& part : distinct_list(option, text)) {
        const auto value = whole<std::int64_t>(part);
        if (!value || *value < 0) refuse(fmt::format("{}: {} is no whole number from 0", option, part));
        add_distinct(option, out, *value, part);
    }
    return out;
}

}  // namespace rldp::eval
