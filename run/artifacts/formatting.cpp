#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "run/artifacts/formatting.hpp"

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

std::string html_table(const std::string& caption, const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows, std::size_t text_columns) {
    const auto row = [text_columns](const std::vector<std::string>& cells, const std::string& tag) {
        std::string out = "<tr>";
        for (std::size_t i = 0; i < cells.size(); ++i)
            out += "<" + tag + (i < text_columns ? ">" : " class=\"n\">") + cells[i] + "</" + tag + ">";
        return out + "</tr>\n";
    };
    std::string out =
        "<div class=\"table\"><table><caption>" + caption + "</caption>\n<thead>" + row(head, "th") + "</thead>\n";
    for (const auto& cells : rows) out += row(cells, "td");
    return out + "</table></div>\n";
}

std::string html_list_of_html(const std::vector<std::string>& items) {
    std::string out = "<ul>";
    for (const auto& item : items) out += "<li>" + item + "</li>\n";
    return out + "</ul>\n";
}

std::string html_list(const std::vector<std::string>& sentences) {
    std::vector<std::string> items;
    for (const auto& sentence : sentences) items.push_back(escaped(sentence));
    return html_list_of_html(items);
}

namespace {

std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](unsigned char byte) { return (byte & 0xc0) != 0x80; }));
}

}  // namespace

std::string text_table(std::vector<std::vector<std::string>> rows) {
    for (auto& row : rows)
        for (auto& cell : row) cell = printable(cell);
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += row[i] + std::string(i + 1 < row.size() ? widths[i] - characters(row[i]) + 2 : 0, ' ');
        out += line + "\n";
    }
    return out;
}

}  // namespace rldp::eval
