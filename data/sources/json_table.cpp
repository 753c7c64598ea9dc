#include "data/sources/json_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "data/sources/pieces.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

using ordered = nlohmann::ordered_json;

ordered object_of(const text_line& line, const std::string& file) {
    auto out = ordered::parse(line.text, nullptr, false);
    if (!out.is_object() || line.text.find('\0') != std::string_view::npos)
        refuse_at(file, line.number, "not a JSON object; with data.template every line is one, a key per column");
    return out;
}

std::string scalar(const ordered& value) {
    return value.is_null() ? std::string() : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string cell_of(const ordered& value, const std::string& key, const std::string& file, std::size_t line) {
    if (value.is_primitive()) return scalar(value);
    const bool flat = value.is_array() &&
                      std::all_of(value.begin(), value.end(), [](const ordered& each) { return each.is_primitive(); });
    if (!flat)
        refuse_at(
            file, line,
            fmt::format("\"{}\" holds an object; a column is text, a number, or a list of them: flatten it", key));
    std::string out;
    for (const auto& each : value) out += (out.empty() ? "" : ", ") + scalar(each);
    return out;
}

}  // namespace

struct json_table_stream::state {
    piece_reader pieces;
    bool beside;
    std::vector<std::string> columns;
};

json_table_stream::json_table_stream(const std::string& path, bool beside)
    : state_(new state{piece_reader(path, false), beside, {}}) {}
json_table_stream::~json_table_stream() = default;

std::optional<table> json_table_stream::next() {
    const auto& file = state_->pieces.path();
    auto& columns = state_->columns;
    const auto part = state_->pieces.next();
    if (!part) return std::nullopt;
    std::vector<std::pair<ordered, std::size_t>> rows;
    for (const auto& line : lines_of(part->text, part->line)) rows.emplace_back(object_of(line, file), line.number);
    if (columns.empty())
        for (const auto& [row, line] : rows)
            for (const auto& [key, value] : row.items())
                if ((!state_->beside || value.is_primitive()) &&
                    std::find(columns.begin(), columns.end(), key) == columns.end())
                    columns.push_back(key);
    table out(file, columns);
    std::vector<std::string> cells(columns.size());
    for (const auto& [row, line] : rows) {
        std::size_t found = 0;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const auto value = row.find(columns[c]);
            found += value != row.end() ? 1 : 0;
            const bool read = value != row.end() && (!state_->beside || value->is_primitive());
            cells[c] = read ? cell_of(*value, columns[c], file, line) : std::string();
        }
        if (!state_->beside && found < row.size())
            refuse_at(file, line,
                      "has a key that no object at the file's beginning has; give the first one all keys, null "
                      "where it has nothing");
        out.add_row(cells, line);
    }
    return out;
}

void json_table_stream::rewind() {
    state_->pieces.rewind();
    state_->columns.clear();
}

}  // namespace rldp::data
