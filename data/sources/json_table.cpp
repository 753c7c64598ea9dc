#include "data/sources/json_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "config/base/error.hpp"
#include "data/sources/pieces.hpp"
#include "data/sources/spelled_json.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

spelled_json parse_row_object(const text_line& line, const std::string& file) {
    auto out = parse_spelled(line, file);
    if (!out.is_object())
        refuse_at(file, line.number,
                  what_instead(out, "not a JSON object; with data.template every line is one, a key per column"));
    return out;
}

std::string to_cell(const spelled_json& value, const std::string& key, const std::string& file, std::size_t line) {
    if (value.is_primitive()) return spell_scalar(value);
    const bool flat = value.is_array() && std::all_of(value.begin(), value.end(),
                                                      [](const spelled_json& each) { return each.is_primitive(); });
    if (!flat)
        refuse_at(
            file, line,
            fmt::format("\"{}\" holds an object; a column is text, a number, or a list of them: flatten it", key));
    std::string out;
    for (const auto& each : value) out += (out.empty() ? "" : ", ") + spell_scalar(each);
    return out;
}

}  // namespace

struct json_table_stream::state {
    piece_reader pieces;
    bool beside;
    std::vector<std::string> columns;
    std::unordered_map<std::string, std::size_t> places;  ///< of each, in their order
};

json_table_stream::json_table_stream(const std::string& path, bool beside)
    : state_(new state{piece_reader(path, false), beside, {}, {}}) {}
json_table_stream::~json_table_stream() = default;

std::optional<table> json_table_stream::next() {
    const auto& file = state_->pieces.path();
    auto& columns = state_->columns;
    const auto part = state_->pieces.next();
    if (!part) return std::nullopt;
    std::vector<std::pair<spelled_json, std::size_t>> rows;
    for (const auto& line : split_lines(part->text, part->line)) rows.emplace_back(parse_row_object(line, file), line.number);
    if (columns.empty())
        for (const auto& [row, line] : rows)
            for (const auto& [key, value] : row.items())
                if ((!state_->beside || value.is_primitive()) && state_->places.emplace(key, columns.size()).second)
                    columns.push_back(key);
    table out(file, columns);
    std::vector<std::string> cells(columns.size());
    for (const auto& [row, line] : rows) {
        for (auto& cell : cells) cell.clear();
        for (const auto& [key, value] : row.items()) {
            const auto place = state_->places.find(key);
            if (place == state_->places.end()) {
                if (state_->beside) continue;
                refuse_at(file, line,
                          "has a key that no object at the file's beginning has; give the first one all keys, null "
                          "where it has nothing");
            }
            if (!state_->beside || value.is_primitive()) cells[place->second] = to_cell(value, key, file, line);
        }
        out.add_row(cells, line);
    }
    return out;
}

void json_table_stream::rewind() {
    state_->pieces.rewind();
    state_->columns.clear();
    state_->places.clear();
}

}  // namespace rldp::data
