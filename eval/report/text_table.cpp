#include "eval/report/text_table.hpp"

#include <algorithm>

#include "config/base/printable.hpp"

namespace rldp::eval {
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
