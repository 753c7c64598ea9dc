#include "data/sources/codes.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "config/base/files.hpp"
#include "data/sources/csv.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

std::string trimmed(std::string_view s) {
    const auto first = s.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return std::string(s.substr(first, s.find_last_not_of(" \t") - first + 1));
}

}  // namespace

code_book read_code_book(const std::string& path) {
    return parse_code_book(read_file(path), path);
}

code_book parse_code_book(std::string text, const std::string& file) {
    const auto rows = parse_csv(std::move(text), file);
    if (rows.columns().size() != 2)
        refuse_at(file, 1, fmt::format("a code table has two columns, here are {}", rows.columns().size()));
    code_book out;
    auto* codes = &out[trimmed(rows.columns()[0])];
    bool header = false;  // whether the next row names a new table
    for (std::size_t row = 0; row < rows.rows(); ++row) {
        auto code = trimmed(rows.cell(row, 0));
        auto description = trimmed(rows.cell(row, 1));
        if (code.empty() && description.empty()) {
            header = true;
        } else if (std::exchange(header, false)) {
            if (out.contains(code)) refuse_at(file, rows.line(row), fmt::format("a second table for \"{}\"", code));
            codes = &out[code];
        } else if (!codes->emplace(code, std::move(description)).second) {
            refuse_at(file, rows.line(row), fmt::format("code \"{}\" is there twice", code));
        }
    }
    return out;
}

}  // namespace rldp::data
