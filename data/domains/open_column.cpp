#include "data/domains/open_column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/grammar/dates.hpp"
#include "data/grammar/parts.hpp"
#include "data/sources/schema.hpp"
#include "data/sources/tables.hpp"

namespace rldp::data {

namespace {

using nlohmann::ordered_json;

/// As a schema's entry says it: a number of the range's spelling.
ordered_json spelled_number(const number_range& range, std::int64_t units) {
    return ordered_json::parse(range.spell(units));
}

/// A step as the schema will read it. Errors: bad_input naming `said`.
number_range read_step(const std::string& step, const std::string& said) {
    number_range out;
    const auto point = step.find('.');
    out.decimals = point == std::string::npos ? 0 : static_cast<int>(step.size() - point - 1);
    const auto units = out.decimals <= static_cast<int>(most_decimals) ? out.read(step) : std::nullopt;
    if (!units || *units <= 0 || *units >= 1'000'000'000'000'000)
        refuse(fmt::format("--type {}: \"{}\" is no step; give a number above 0 with {} decimals at most", said, step,
                           most_decimals));
    out.step = *units;
    return out;
}

}  // namespace

open_column read_open_column(const std::string& said) {
    const auto equals = said.rfind('=', said.find('%'));
    if (equals == std::string::npos || equals == 0)
        refuse(fmt::format("--type {}: write COLUMN=KIND, such as cut=category or price=number:0.01", said));
    const auto colon = std::min(said.find(':', equals), said.size());
    const auto kind = said.substr(equals + 1, colon - equals - 1);
    const auto what = said.substr(std::min(colon + 1, said.size()));
    open_column out{.name = said.substr(0, equals)};
    if (kind == "category" && what.empty()) return out;
    if ((kind == "integer" || kind == "number") && what.find(':') == std::string::npos) {
        out.kind = kind == "integer" ? open_kind::integer : open_kind::number;
        out.step = what.empty() && kind == "integer" ? "1" : what;
        if (!out.step.empty() && read_step(out.step, said).decimals > 0 && kind == "integer")
            refuse(fmt::format("--type {}: the step of whole numbers is a whole number", said));
        return out;
    }
    if (kind == "date") {
        out.kind = open_kind::date;
        if (!what.empty()) out.format = what;
        if (const auto fault = find_fault_of_date_format(out.format))
            refuse(fmt::format("--type {}: the format {}", said, *fault));
        return out;
    }
    refuse(
        fmt::format("--type {}: kinds whose domain is found are category, integer, integer:STEP, number, number:STEP, "
                    "date and date:FORMAT; what you know yourself, rldp init --type declares",
                    said));
}

std::optional<open_value> read_open_value(std::string_view cell, const open_column& column) {
    if (column.kind == open_kind::date) {
        const auto day = read_date(cell, column.format);
        return day ? std::optional(open_value{place_day(*day)}) : std::nullopt;
    }
    auto place = place_number(cell);
    if (!place) return std::nullopt;
    const auto point = cell.find('.');
    const auto decimals = point == std::string_view::npos ? 0 : cell.size() - point - 1;
    if (decimals > most_decimals || (column.kind == open_kind::integer && decimals > 0)) return std::nullopt;
    return open_value{std::move(*place), decimals};
}

ordered_json write_range(const open_column& column, const std::pair<bucket, bucket>& ends,
                         std::optional<std::size_t> decimals) {
    ordered_json out = {{"column", column.name}};
    if (column.kind == open_kind::date) {
        const auto first = std::min(days_in(ends.first).first, days_in(ends.second).first);
        const auto last = std::max(days_in(ends.first).second, days_in(ends.second).second);
        out["date"] = {write_date(first, "%Y-%m-%d"), write_date(last, "%Y-%m-%d")};
        if (column.format != "%Y-%m-%d") out["format"] = column.format;
    } else {
        number_range range;
        if (column.finds_decimals()) {
            require(decimals && *decimals <= most_decimals, "a number's decimals were not found");
            range.decimals = static_cast<int>(*decimals);
            range.step = 1;
        } else {
            range = read_step(column.step, column.name);
        }
        // A bucket within the other one's run of buckets may lie before it.
        const auto a = numbers_in(ends.first, range.step, range.decimals);
        const auto b = numbers_in(ends.second, range.step, range.decimals);
        range.low = std::min(a.first, b.first);
        range.high = std::max(a.second, b.second);
        const auto* key = column.kind == open_kind::integer ? "integer" : "number";
        out[key] = {spelled_number(range, range.low), spelled_number(range, range.high)};
        if (column.kind == open_kind::number || range.step != 1) out["step"] = spelled_number(range, range.step);
    }
    read_schema(nlohmann::json::array({out}), "what was found of " + column.name);
    return out;
}

ordered_json write_categories(const open_column& column, const std::vector<std::string>& values) {
    ordered_json out = {{"column", column.name}, {"category", values}};
    read_schema(nlohmann::json::array({out}), "what was found of " + column.name);
    return out;
}

}  // namespace rldp::data
