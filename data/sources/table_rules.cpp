#include "data/sources/table_rules.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "data/grammar/dates.hpp"
#include "data/sources/narrative.hpp"

namespace rldp::data {

namespace {

const column_schema* find_declared(const std::vector<column_schema>& schema, std::string_view name) {
    const auto found = std::find_if(schema.begin(), schema.end(), [&](const auto& one) { return one.name == name; });
    return found == schema.end() ? nullptr : &*found;
}

/// One entry of the list, which knows where it stands.
class rule_entry {
  public:
    rule_entry(const std::vector<column_schema>& schema, std::string place)
        : schema_(schema), place_(std::move(place)) {}

    [[noreturn]] void fail(const std::string& what) const { refuse(place_ + ": " + what); }

    table_rule read(const nlohmann::json& value) const {
        table_rule out;
        out.text = value.is_string() ? value.get<std::string>() : value.dump();
        if (value.is_string()) {
            out.compare = read_comparison(out.text);
            return out;
        }
        if (!value.is_object() || value.size() != 2 || !value.contains("if") || !value.contains("then"))
            fail("must be {\"if\": {COLUMN: VALUE}, \"then\": {COLUMN: VALUE}}, or \"COLUMN <= COLUMN\"");
        out.when = read_conditions(value.at("if"), "if");
        out.then = read_conditions(value.at("then"), "then");
        return out;
    }

  private:
    const column_schema& column(std::string_view name) const {
        const auto* found = find_declared(schema_, name);
        if (!found) fail(fmt::format("\"{}\" is no column of the schema", name));
        return *found;
    }

    table_rule::comparison read_comparison(const std::string& text) const {
        for (const bool or_equal : {true, false}) {
            const std::string_view sign = or_equal ? " <= " : " < ";
            const auto at = text.find(sign);
            if (at == std::string::npos) continue;
            table_rule::comparison out{text.substr(0, at), text.substr(at + sign.size()), or_equal};
            const auto &left = column(out.left).type, &right = column(out.right).type;
            const bool numbers =
                std::holds_alternative<number_type>(left) && std::holds_alternative<number_type>(right);
            const bool dates = std::holds_alternative<date_type>(left) && std::holds_alternative<date_type>(right);
            if (!numbers && !dates) fail("compares columns that are not both numbers, or both dates");
            return out;
        }
        fail("is neither \"COLUMN <= COLUMN\" nor \"COLUMN < COLUMN\"");
    }

    std::vector<table_rule::condition> read_conditions(const nlohmann::json& value, const std::string& key) const {
        if (!value.is_object() || value.empty()) fail(fmt::format("\"{}\" must be {{COLUMN: VALUE}}", key));
        std::vector<table_rule::condition> out;
        for (const auto& [name, given] : value.items()) {
            const auto& declared = column(name);
            if (std::holds_alternative<text_type>(declared.type))
                fail(fmt::format("column \"{}\" is free text, of which no rule can be checked", name));
            out.push_back({name, {}});
            for (const auto& one : given.is_array() ? given : nlohmann::json::array({given}))
                out.back().values.push_back(read_value(one, declared));
            if (out.back().values.empty()) fail(fmt::format("column \"{}\" has an empty list", name));
        }
        return out;
    }

    std::optional<std::string> read_value(const nlohmann::json& value, const column_schema& declared) const {
        if (value.is_null()) {
            if (declared.required) fail(fmt::format("column \"{}\" is required, so it is never null", declared.name));
            return std::nullopt;
        }
        if (!value.is_string() && !value.is_number_integer())
            fail(
                fmt::format("column \"{}\" must have a string, a whole number, null or a list of them", declared.name));
        auto cell = value.is_string() ? value.get<std::string>() : value.dump();
        if (!conforms(cell, declared.type))
            fail(fmt::format("column \"{}\" can't be \"{}\"; it is {}", declared.name, cell, describe(declared.type)));
        return cell;
    }

    const std::vector<column_schema>& schema_;
    std::string place_;
};

}  // namespace

std::vector<table_rule> read_rules(const nlohmann::json& list, const std::vector<column_schema>& schema,
                                   const std::string& file) {
    const auto place = file + ": rules";
    if (!list.is_array()) refuse(place + ": must be a list of rules");
    std::vector<table_rule> out;
    for (const auto& value : list)
        out.push_back(rule_entry(schema, fmt::format("{}[{}]", place, out.size())).read(value));
    return out;
}

column_kind kind_of_column(const column_type& type) {
    if (std::holds_alternative<number_type>(type) || std::holds_alternative<date_type>(type))
        return column_kind::number;
    return std::holds_alternative<text_type>(type) ? column_kind::text : column_kind::category;
}

cell_reader::cell_reader(const row_template& how, const column_schema& column, const code_book* codes)
    : how_(how), column_(column), kind_(kind_of_column(column.type)) {
    if (const auto* dates = std::get_if<date_type>(&column.type))
        for (auto day = dates->first; day <= dates->last; ++day) days_.emplace(write_date(day, dates->format), day);
    const auto rule = how.columns.find(column.name);
    if (rule == how.columns.end()) return;
    decimal_comma_ = rule->second.decimal_comma;
    if (!rule->second.codes || !codes) return;
    words_ = &rule->second.values;
    if (const auto table = codes->find(*rule->second.codes); table != codes->end()) codes_ = &table->second;
}

std::optional<std::string> cell_reader::word(std::string_view cell) const {
    const auto* category = std::get_if<category_type>(&column_.type);
    const bool may_be_listed = category != nullptr && !category->all_codes;
    if (how_.missing.contains(cell) && !(may_be_listed && conforms(cell, column_.type))) return std::nullopt;
    if (codes_ != nullptr) {  // a made-up table has one code of those that are told alike
        if (const auto meaning = codes_->find(cell); meaning != codes_->end()) cell = meaning->second;
        if (const auto said = words_->find(cell); said != words_->end()) cell = said->second;
        if (how_.missing.contains(cell) || cell == how_.unknown) return std::nullopt;
        return std::string(cell);
    }
    const auto value = number(cell);
    return value ? fmt::format("{}", *value) : std::string(cell);
}

std::optional<double> cell_reader::number(std::string_view cell) const {
    if (kind_ != column_kind::number || how_.missing.contains(cell)) return std::nullopt;
    if (std::holds_alternative<date_type>(column_.type)) {
        const auto day = days_.find(std::string(cell));
        return day == days_.end() ? std::nullopt : std::optional(static_cast<double>(day->second));
    }
    const auto pointed = decimal_comma_ ? with_decimal_point(cell) : std::nullopt;
    const std::string_view text = pointed ? *pointed : cell;
    double value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

rule_check::rule_check(const table_rule& rule, const std::vector<std::string>& columns,
                       const std::map<std::string, cell_reader, std::less<>>& readers) {
    const auto ask = [&](const std::string& name, const std::vector<std::optional<std::string>>& values) {
        const auto at = std::find(columns.begin(), columns.end(), name);
        require(at != columns.end() && readers.contains(name), "a rule's column is one of the table's");
        asked out{static_cast<std::size_t>(at - columns.begin()), &readers.find(name)->second, {}};
        for (const auto& value : values) out.values.push_back(value ? out.reader->word(*value) : std::nullopt);
        return out;
    };
    for (const auto& one : rule.when) when_.push_back(ask(one.column, one.values));
    for (const auto& one : rule.then) then_.push_back(ask(one.column, one.values));
    if (!rule.compare) return;
    compare_.emplace(ask(rule.compare->left, {}), ask(rule.compare->right, {}));
    or_equal_ = rule.compare->or_equal;
}

bool rule_check::holds(const std::vector<asked>& all, const std::function<std::string_view(std::size_t)>& cell) const {
    return std::all_of(all.begin(), all.end(), [&](const asked& one) {
        const auto word = one.reader->word(cell(one.column));
        return std::find(one.values.begin(), one.values.end(), word) != one.values.end();
    });
}

kept rule_check::operator()(const std::function<std::string_view(std::size_t column)>& cell) const {
    if (compare_) {
        const auto left = compare_->first.reader->number(cell(compare_->first.column));
        const auto right = compare_->second.reader->number(cell(compare_->second.column));
        if (!left || !right) return kept::not_asked;
        return (or_equal_ ? *left <= *right : *left < *right) ? kept::yes : kept::no;
    }
    if (!holds(when_, cell)) return kept::not_asked;
    return holds(then_, cell) ? kept::yes : kept::no;
}

}  // namespace rldp::data
