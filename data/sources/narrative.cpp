#include "data/sources/narrative.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/error.hpp"
#include "data/sources/decimal.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

/// Bounds of "[60-70)", with either kind of bracket at either end.
std::optional<std::pair<std::string_view, std::string_view>> bounds(std::string_view value) {
    const auto one_of = [](char c, std::string_view set) { return set.find(c) != std::string_view::npos; };
    if (value.size() < 5 || !one_of(value.front(), "[(") || !one_of(value.back(), ")]")) return std::nullopt;
    value = value.substr(1, value.size() - 2);
    const auto dash = value.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto low = value.substr(0, dash), high = value.substr(dash + 1);
    if (!is_digits(low) || !is_digits(high)) return std::nullopt;
    return std::pair{low, high};
}

}  // namespace

void pattern::append(std::string& out, const filling& with, std::vector<text_range>* values) const {
    for (const auto& [literal, slot] : pieces_) {
        out += literal;
        if (!slot) continue;
        const auto begin = out.size();
        out += with.*slot;
        if (values && slot != &filling::label) values->push_back({begin, out.size()});
    }
}

bool row_template::tells(std::string_view column) const {
    if (column == record || column == person || leave_out.contains(column)) return false;
    return !only_named || columns.contains(column);
}

bool row_template::tells_values_of(std::string_view column) const {
    const auto rule = columns.find(column);
    const bool declared = rule != columns.end() && (rule->second.codes || !rule->second.values.empty());
    return tells(column) && !declared;
}

row_renderer::row_renderer(const row_template& how, const table& rows, const code_book* codes) : how_(how), rows_(rows) {
    check_columns();
    for (std::size_t c = 0; c < rows.columns().size(); ++c) {
        const auto& name = rows.columns()[c];
        if (!how.tells(name)) continue;
        const auto& rule = find_column_rule(name);
        fields_.push_back({c, &rule, codes && rule.codes ? &find_meanings(name, *rule.codes, *codes) : nullptr});
    }
}

void row_renderer::check_columns() const {
    const auto need = [&](const std::string& column) {
        if (!rows_.find(column))
            refuse_at(rows_.file(), 1,
                      fmt::format("column \"{}\" is missing; add it, or take it out of {}", column, how_.file));
    };
    if (how_.record) need(*how_.record);
    if (how_.person) need(*how_.person);
    for (const auto& column : how_.leave_out) need(column);
    for (const auto& column : how_.columns) need(column.first);
}

const column_rule& row_renderer::find_column_rule(const std::string& column) {
    if (const auto named = how_.columns.find(column); named != how_.columns.end()) return named->second;
    auto label = column;
    std::replace(label.begin(), label.end(), '_', ' ');
    return plain_.emplace(column, column_rule{.label = label, .clause = how_.clause}).first->second;
}

const words& row_renderer::find_meanings(const std::string& column, const std::string& name, const code_book& codes) const {
    const auto found = codes.find(name);
    if (found == codes.end())
        refuse(fmt::format("{}: columns.{}.codes: the code book has no table \"{}\"", how_.file, column, name));
    return found->second;
}

std::string row_renderer::operator()(std::size_t row, std::vector<clause>* clauses) const {
    std::string out = how_.opening;
    for (const auto& which : fields_) {
        if (!out.empty()) out += ' ';
        const auto begin = out.size();
        auto values = append_clause(out, which, rows_.cell(row, which.column), row);
        if (!clauses) continue;
        if (values.empty()) values.push_back({begin, out.size()});
        clauses->push_back({which.column, {begin, out.size()}, std::move(values)});
    }
    return out;
}

std::string_view row_renderer::decode(const field& which, std::string_view value, std::size_t row) const {
    if (which.codes && !how_.missing.contains(value)) {
        const auto found = which.codes->find(value);
        if (found == which.codes->end()) refuse_value(which, row, fmt::format("a code of \"{}\"", *which.rule->codes));
        value = found->second;
    }
    // A rule's own words go first: a column may use "None" as a value.
    if (const auto found = which.rule->values.find(value); found != which.rule->values.end()) return found->second;
    return how_.missing.contains(value) ? std::string_view(how_.unknown) : value;
}

std::vector<text_range> row_renderer::append_clause(std::string& out, const field& which, std::string_view value,
                                                std::size_t row) const {
    const auto& rule = *which.rule;
    if (const auto found = rule.sentences.find(value); found != rule.sentences.end()) {
        out += found->second;
        return {};
    }
    if (rule.count && !how_.missing.contains(value)) return append_count(out, which, value, row);
    if (rule.range && !how_.missing.contains(value)) return append_range(out, which, value, row);
    const auto number = rule.decimal_comma ? with_decimal_point(value) : std::nullopt;
    std::vector<text_range> values;
    rule.clause.append(out, {rule.label, decode(which, number ? *number : value, row), {}, {}}, &values);
    return values;
}

std::vector<text_range> row_renderer::append_count(std::string& out, const field& which, std::string_view value,
                                               std::size_t row) const {
    if (!is_digits(value)) refuse_value(which, row, "a count (0, 1, 2, …)");
    const auto& forms = *which.rule->count;
    const auto significant = std::min(value.find_first_not_of('0'), value.size() - 1);
    value.remove_prefix(significant);
    const bool zero = value == "0" && forms.zero, one = value == "1" && forms.one;
    const auto& form = zero ? *forms.zero : one ? *forms.one : forms.many;
    std::vector<text_range> values;
    form.append(out, {which.rule->label, value, {}, {}}, &values);
    return values;
}

std::vector<text_range> row_renderer::append_range(std::string& out, const field& which, std::string_view value,
                                               std::size_t row) const {
    const auto ends = bounds(value);
    if (!ends) refuse_value(which, row, "a range like [60-70)");
    std::vector<text_range> values;
    which.rule->range->append(out, {which.rule->label, value, ends->first, ends->second}, &values);
    return values;
}

void row_renderer::refuse_value(const field& which, std::size_t row, const std::string& need) const {
    refuse_at(rows_.file(), rows_.line(row),
              fmt::format("column \"{}\" is not {}; mend the row, or change the column's rule in {}",
                          rows_.columns()[which.column], need, how_.file));
}

}  // namespace rldp::data
