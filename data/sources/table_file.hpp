#pragma once
// Tables that are written: CSV and JSON lines, packed or not.
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/narrative.hpp"

namespace rldp::data {

/// Errors: bad_input for a name of another kind than .csv, .tsv, .jsonl or .ndjson, each with .gz or .zst or without.
void check_table_name(const std::filesystem::path& path);

/// Calls use(cells) for each row in order.
using row_source = std::function<void(const std::function<void(const std::vector<std::string>& cells)>& use)>;

/// The rows, whose columns are those of the template's schema, whole or not at all. In JSON lines numbers are numbers,
/// and a missing value is null. Errors: as write_file.
void write_table(const std::filesystem::path& path, const row_template& how, const row_source& rows);

/// Lines, whole or not at all, packed as the name says. Errors: as write_file.
using line_source = std::function<void(const std::function<void(std::string_view line)>& add)>;
void write_lines(const std::filesystem::path& path, const line_source& lines);

}  // namespace rldp::data
