#include "eval/report/html.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rldp::eval {

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string readable(double value) {
    if (std::isnan(value)) return "not a number";
    if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
    const auto text = fmt::format("{:.4g}", std::abs(value));
    const auto exponent = text.find('e');
    const auto sign = value < 0 ? "−" : "";
    if (exponent == std::string::npos) return sign + text;
    const auto power = std::stoi(text.substr(exponent + 1));
    return fmt::format("{}{}×10<sup>{}{}</sup>", sign, text.substr(0, exponent), power < 0 ? "−" : "", std::abs(power));
}

std::string readable(std::int64_t value) {
    auto text = std::to_string(value);
    for (auto at = static_cast<std::int64_t>(text.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
        text.insert(static_cast<std::size_t>(at), "\u202f");
    return text;
}

}  // namespace rldp::eval
