#pragma once
// Dates, as the days since 1970-01-01, and how they are written.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::data {

/// "2024-02-29". None for any other spelling, and for no day of the calendar from year 1 to 9999.
std::optional<std::int64_t> read_iso_date(std::string_view text);

/// `format` has %Y, %m and %d, each at most once and at least the year, and other characters for themselves; none is a
/// %. What is wrong with one that is not so.
std::optional<std::string> find_fault_of_date_format(std::string_view format);
std::string write_date(std::int64_t day, std::string_view format);
/// A date as `format` writes it; the first of the days that are written alike. None for any other text.
std::optional<std::int64_t> read_date(std::string_view text, std::string_view format);

/// All dates from one day to another as they are written, in order; days that are written alike once.
std::vector<std::string> list_dates(std::int64_t first, std::int64_t last, std::string_view format);

}  // namespace rldp::data
