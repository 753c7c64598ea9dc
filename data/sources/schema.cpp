#include "data/sources/schema.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "data/grammar/code_pattern.hpp"
#include "data/grammar/dates.hpp"

namespace rldp::data {

namespace {

constexpr std::size_t most_columns = 1000;
constexpr std::int64_t most_characters = 10'000, most_days = 200'000;

/// One entry of the list, which knows where it stands.
class schema_entry {
  public:
    schema_entry(const nlohmann::json& value, std::string place) : value_(value), place_(std::move(place)) {}

    [[noreturn]] void fail(const std::string& what, const std::string& key = "") const {
        refuse(fmt::format("{}{}: {}", place_, key.empty() ? "" : "." + key, what));
    }
    bool has(const std::string& key) const { return value_.contains(key); }
    const nlohmann::json& at(const std::string& key) const { return value_.at(key); }
    std::string text(const std::string& key) const {
        if (!at(key).is_string() || at(key).get<std::string>().empty())
            fail("must be a string with something in it", key);
        return at(key).get<std::string>();
    }
    bool flag(const std::string& key) const {
        if (!has(key)) return false;
        if (!at(key).is_boolean()) fail("must be true or false", key);
        return at(key).get<bool>();
    }
    /// As it is written, so that 0.1 is a tenth.
    std::string number(const nlohmann::json& from, const std::string& key) const {
        if (!from.is_number()) fail("must be numbers", key);
        if (from.is_number_integer()) return from.dump();
        return fmt::format("{:.9f}", from.get<double>());
    }

  private:
    const nlohmann::json& value_;
    std::string place_;
};

category_type read_category(const schema_entry& from) {
    const auto& written = from.at("category");
    if (written == "codes") return {.values = {}, .all_codes = true};
    if (!written.is_array() || written.empty()) from.fail("must be a list of values, or \"codes\"", "category");
    if (written.size() > most_categories)
        from.fail(fmt::format("has more than {} values", most_categories), "category");
    category_type out;
    std::set<std::string> seen;
    for (const auto& one : written) {
        if (!one.is_string() && !one.is_number_integer())
            from.fail("must be a list of strings or whole numbers", "category");
        out.values.push_back(one.is_string() ? one.get<std::string>() : one.dump());
        if (!seen.insert(out.values.back()).second)
            from.fail(fmt::format("has \"{}\" twice", out.values.back()), "category");
    }
    return out;
}

std::string without_zeros(std::string number) {
    if (number.find('.') == std::string::npos) return number;
    while (number.ends_with('0')) number.pop_back();
    if (number.ends_with('.')) number.pop_back();
    return number;
}

number_type read_number(const schema_entry& from, const std::string& key) {
    const auto& ends = from.at(key);
    if (!ends.is_array() || ends.size() != 2) from.fail("must be [LOWEST, HIGHEST]", key);
    const bool whole = key == "integer";
    if (!whole && !from.has("step")) from.fail("needs \"step\", the least difference of two values, such as 0.1", key);
    const auto step = from.has("step") ? without_zeros(from.number(from.at("step"), "step")) : "1";
    const auto point = step.find('.');
    number_type out{.range = {}, .whole = whole};
    out.range.decimals = point == std::string::npos ? 0 : static_cast<int>(step.size() - point - 1);
    if (whole && out.range.decimals > 0) from.fail("must be a whole number", "step");
    const auto units = [&](const std::string& spelled, const std::string& where) {
        const auto read = out.range.read(without_zeros(spelled));
        constexpr std::int64_t limit = 1'000'000'000'000'000;
        if (!read || *read <= -limit || *read >= limit)
            from.fail(fmt::format("{} has more decimals than the step, or is too large", without_zeros(spelled)),
                      where);
        return *read;
    };
    out.range.step = units(step, "step");
    out.range.low = units(from.number(ends[0], key), key);
    out.range.high = units(from.number(ends[1], key), key);
    if (out.range.step <= 0) from.fail("must be above 0, with 9 decimals at most", "step");
    if (out.range.high < out.range.low) from.fail("ends below where it begins", key);
    return out;
}

date_type read_dates(const schema_entry& from) {
    const auto& ends = from.at("date");
    if (!ends.is_array() || ends.size() != 2 || !ends[0].is_string() || !ends[1].is_string())
        from.fail("must be [FIRST, LAST] as \"2024-12-31\"", "date");
    const auto day = [&](const nlohmann::json& written) {
        const auto read = read_iso_date(written.get<std::string>());
        if (!read) from.fail(fmt::format("\"{}\" is no date such as 2024-12-31", written.get<std::string>()), "date");
        return *read;
    };
    date_type out{.first = day(ends[0]), .last = day(ends[1]), .format = "%Y-%m-%d"};
    if (out.last < out.first) from.fail("ends before it begins", "date");
    if (out.last - out.first > most_days) from.fail(fmt::format("spans more than {} days", most_days), "date");
    if (from.has("format")) out.format = from.text("format");
    if (const auto fault = find_fault_of_date_format(out.format)) from.fail(*fault, "format");
    return out;
}

code_type read_code(const schema_entry& from) {
    code_type out{.pattern = from.text("code"), .spelled = {}};
    try {
        out.spelled = make_code(out.pattern);
    } catch (const error& fault) {
        from.fail(fault.what(), "code");
    }
    return out;
}

text_type read_text_type(const schema_entry& from) {
    const auto& most = from.at("text");
    if (!most.is_number_integer() || most < 1 || most > most_characters)
        from.fail(fmt::format("must be the most characters, from 1 to {}", most_characters), "text");
    return {most.get<std::int64_t>()};
}

constexpr std::array<std::string_view, 6> type_keys{"category", "integer", "number", "date", "code", "text"};

column_type read_type(const schema_entry& from, std::string_view key) {
    if (key == "category") return read_category(from);
    if (key == "integer" || key == "number") return read_number(from, std::string(key));
    if (key == "date") return read_dates(from);
    if (key == "code") return read_code(from);
    return read_text_type(from);
}

column_schema read_entry(const nlohmann::json& value, const std::string& place) {
    const schema_entry from(value, place);
    if (!value.is_object() || !value.contains("column")) from.fail("must be an object with \"column\"");
    column_schema out{.name = from.text("column"), .type = {}, .required = from.flag("required")};
    std::string_view given;
    for (const auto& [key, unused] : value.items()) {
        const auto type = std::find(type_keys.begin(), type_keys.end(), key);
        if (type == type_keys.end()) {
            if (key == "column" || key == "required" || key == "step" || key == "format") continue;
            from.fail(
                "unknown key; known here are column, category, integer, number, date, code, text, step, format, "
                "required",
                key);
        }
        if (!given.empty()) from.fail(fmt::format("excludes \"{}\"; a column has one type", given), key);
        given = *type;
    }
    if (from.has("step") && given != "integer" && given != "number") from.fail("is of integer and number", "step");
    if (from.has("format") && given != "date") from.fail("is of date", "format");
    if (given.empty()) return out;
    out.type = read_type(from, given);
    return out;
}

}  // namespace

std::vector<column_schema> read_schema(const nlohmann::json& list, const std::string& file) {
    const auto place = file + ": schema";
    if (!list.is_array() || list.empty()) refuse(place + ": must be a list of columns");
    if (list.size() > most_columns) refuse(fmt::format("{}: has more than {} columns", place, most_columns));
    std::vector<column_schema> out;
    std::set<std::string> seen;
    for (const auto& value : list) {
        out.push_back(read_entry(value, fmt::format("{}[{}]", place, out.size())));
        if (!seen.insert(out.back().name).second)
            refuse(fmt::format("{}[{}]: column \"{}\" is there twice", place, out.size() - 1, out.back().name));
    }
    return out;
}

namespace {

template <class... Cases>
struct overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
overloaded(Cases...) -> overloaded<Cases...>;  // which clang 14 does not see by itself

/// Characters of UTF-8.
std::int64_t count_characters(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) { return (c & '\xc0') != '\x80'; });
}

}  // namespace

bool conforms(std::string_view cell, const column_type& type) {
    return std::visit(
        overloaded{[&](const text_type& text) { return !cell.empty() && count_characters(cell) <= text.most; },
                   [&](const category_type& category) {
                       return category.all_codes ||
                              std::find(category.values.begin(), category.values.end(), cell) != category.values.end();
                   },
                   [&](const number_type& number) {
                       const auto units = number.range.read(cell);
                       return units && number.range.holds(*units);
                   },
                   [&](const date_type& date) {
                       for (auto day = date.first; day <= date.last; ++day)
                           if (write_date(day, date.format) == cell) return true;
                       return false;
                   },
                   [&](const code_type& code) {
                       auto at = std::optional(code.spelled->begin());
                       for (const char c : cell)
                           if (at) at = code.spelled->next(*at, static_cast<std::uint8_t>(c));
                       return at && code.spelled->ends(*at);
                   }},
        type);
}

std::string describe(const column_type& type) {
    return std::visit(
        overloaded{[](const text_type& text) { return fmt::format("text of {} characters at most", text.most); },
                   [](const category_type& category) {
                       return category.all_codes ? std::string("one of its code table")
                                                 : fmt::format("one of {} values", category.values.size());
                   },
                   [](const number_type& number) {
                       return fmt::format("{} from {} to {}", number.whole ? "integer" : "number",
                                          number.range.spell(number.range.low), number.range.spell(number.range.high));
                   },
                   [](const date_type& date) {
                       return fmt::format("date from {} to {}", write_date(date.first, "%Y-%m-%d"),
                                          write_date(date.last, "%Y-%m-%d"));
                   },
                   [](const code_type& code) { return "code " + code.pattern; }},
        type);
}

}  // namespace rldp::data
