// Reads narrative templates.
#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/strict_json.hpp"
#include "data/sources/narrative.hpp"
#include "data/sources/tables.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

using nlohmann::json;

constexpr std::string_view any_value = "label value";

/// A JSON object of the template that knows where it stands, for messages.
class node {
  public:
    node(const json& value, std::string file, std::string path)
        : value_(value), file_(std::move(file)), path_(std::move(path)) {
        if (!value.is_object()) refuse(place() + "must be an object");
    }

    void allow_only(std::initializer_list<std::string_view> keys) const {
        for (const auto& [key, value] : value_.items())
            if (std::find(keys.begin(), keys.end(), key) == keys.end())
                refuse(fmt::format("{}unknown key; known here are {}", place(key), fmt::join(keys, ", ")));
    }

    bool has(const std::string& key) const { return value_.contains(key); }
    const json& raw() const { return value_; }
    const json& at(const std::string& key) const { return value_.at(key); }
    node child(const std::string& key) const { return {value_.at(key), file_, path_ + key + "."}; }

    std::optional<std::string> text(const std::string& key) const {
        if (!has(key)) return std::nullopt;
        if (!value_[key].is_string()) refuse(place(key) + "must be a string");
        return value_[key].get<std::string>();
    }

    bool flag(const std::string& key) const {
        if (!has(key)) return false;
        if (!value_[key].is_boolean()) refuse(place(key) + "must be true or false");
        return value_[key].get<bool>();
    }

    std::optional<pattern> clause(const std::string& key, std::string_view slots) const {
        const auto written = text(key);
        if (!written) return std::nullopt;
        auto parsed = pattern::parse(*written, slots);
        if (!parsed) refuse(fmt::format("{}braces must enclose one of: {}", place(key), slots));
        return parsed;
    }

    std::set<std::string, std::less<>> list(const std::string& key) const {
        std::set<std::string, std::less<>> out;
        if (!has(key)) return out;
        if (!value_[key].is_array()) refuse(place(key) + "must be a list of strings");
        for (const auto& entry : value_[key]) {
            if (!entry.is_string()) refuse(place(key) + "must be a list of strings");
            out.insert(entry.get<std::string>());
        }
        return out;
    }

    words word_list() const {
        words out;
        for (const auto& [key, value] : value_.items()) out[key] = *text(key);
        return out;
    }

    std::string place(const std::string& key = "") const {
        auto path = path_ + key;
        if (path.ends_with('.')) path.pop_back();
        return path.empty() ? file_ + ": " : fmt::format("{}: {}: ", file_, path);
    }

  private:
    const json& value_;
    std::string file_;
    std::string path_;
};

/// "values" of a column: a word list, or the name of one that the template shares.
words column_values(const node& column, const node& root) {
    if (!column.has("values")) return {};
    if (!column.at("values").is_string()) return column.child("values").word_list();
    const auto name = *column.text("values");
    if (!root.has("values") || !root.child("values").has(name))
        refuse(fmt::format("{}no word list \"{}\" under the template's \"values\"", column.place("values"), name));
    return root.child("values").child(name).word_list();
}

std::optional<column_rule::count_forms> count_forms(const node& column) {
    if (!column.has("count")) return std::nullopt;
    const auto forms = column.child("count");
    forms.allow_only({"zero", "one", "many"});
    auto many = forms.clause("many", any_value);
    if (!many) refuse(column.place("count") + "\"many\" is missing");
    return column_rule::count_forms{forms.clause("zero", any_value), forms.clause("one", any_value), std::move(*many)};
}

column_rule read_column(const std::string& name, const node& column, const node& root, const pattern& clause) {
    column.allow_only({"label", "clause", "values", "sentences", "codes", "count", "range", "decimal"});
    if (column.has("count") && column.has("range"))
        refuse(column.place() + "\"count\" and \"range\" exclude each other");
    for (const auto* other : {"values", "codes"})
        if (column.has(other) && (column.has("count") || column.has("range")))
            refuse(column.place(other) + "has no effect beside \"count\" or \"range\"; remove one");
    column_rule out;
    out.label = name;
    std::replace(out.label.begin(), out.label.end(), '_', ' ');
    out.label = column.text("label").value_or(out.label);
    out.clause = column.clause("clause", any_value).value_or(clause);
    out.values = column_values(column, root);
    if (column.has("sentences")) out.sentences = column.child("sentences").word_list();
    out.codes = column.text("codes");
    out.count = count_forms(column);
    out.range = column.clause("range", "label value low high");
    if (const auto mark = column.text("decimal")) {
        if (*mark != "," && *mark != ".") refuse(column.place("decimal") + "must be \",\" or \".\"");
        out.decimal_comma = *mark == ",";
    }
    return out;
}

/// "columns" of the template.
void read_columns(const node& root, row_template& out) {
    const auto columns = root.child("columns");
    for (const auto& [name, rule] : columns.raw().items()) {
        if (name == out.record || name == out.person || out.leave_out.contains(name))
            refuse(columns.place(name) + "the column is an identifier or left out, so it can't have a rule");
        out.columns.emplace(name, read_column(name, columns.child(name), root, out.clause));
    }
}

std::vector<double> read_rows_per_person(const node& root, const row_template& how) {
    constexpr std::size_t most = 1000;
    const auto place = root.place("rows_per_person");
    if (!how.schema) refuse(place + "is of made-up rows, which need a \"schema\"");
    if (std::any_of(how.schema->begin(), how.schema->end(), [](const auto& one) { return one.name == "person"; }))
        refuse(place + "the schema has a column \"person\", as the one of made-up keys is called");
    const auto& written = root.at("rows_per_person");
    const bool numbers =
        written.is_array() && !written.empty() && written.size() <= most &&
        std::all_of(written.begin(), written.end(), [](const auto& one) {
            return one.is_number() && one.template get<double>() >= 0 && one.template get<double>() <= 1;
        });
    if (!numbers) refuse(fmt::format("{}must be a list of shares from 0 to 1, {} at most", place, most));
    auto out = written.get<std::vector<double>>();
    double sum = 0;
    for (const auto share : out) sum += share;
    constexpr double near = 1e-6;
    if (std::abs(sum - 1) > near) refuse(fmt::format("{}the shares sum to {:.6g}, not to 1", place, sum));
    return out;
}

/// That it names no column that is not told, and that no rule is without effect.
void check_schema(const row_template& how) {
    if (!how.schema) return;
    const auto fail = [&](const std::string& what) { refuse(fmt::format("{}: schema: {}", how.file, what)); };
    for (const auto& column : *how.schema) {
        if (column.name == how.record || column.name == how.person || how.leave_out.contains(column.name))
            fail(fmt::format("column \"{}\" is an identifier or left out; it is never told", column.name));
        const auto* category = std::get_if<category_type>(&column.type);
        const auto rule = how.columns.find(column.name);
        if (category && category->all_codes && (rule == how.columns.end() || !rule->second.codes))
            fail(fmt::format("column \"{}\" has \"codes\" for its values, and no code table; name it under columns",
                             column.name));
    }
    for (const auto& [name, rule] : how.columns)
        if (!how.tells(name)) fail(fmt::format("column \"{}\" has a rule and is not in it; add it", name));
    if (how.only_named) fail("\"only_named\" has no effect beside it; remove one");
}

/// What a report on a made-up table asks.
void read_questions(const node& root, row_template& out) {
    for (const auto* key : {"sensitive", "target", "rules"})
        if (root.has(key) && !out.schema) refuse(root.place(key) + "needs a \"schema\"");
    const auto check = [&](const std::string& key, const std::string& name) {
        const auto found =
            std::find_if(out.schema->begin(), out.schema->end(), [&](const auto& one) { return one.name == name; });
        if (found == out.schema->end())
            refuse(fmt::format("{}\"{}\" is no column of the schema", root.place(key), name));
        if (kind_of_column(found->type) == column_kind::text)
            refuse(
                fmt::format("{}column \"{}\" is free text; declare its type, or name another", root.place(key), name));
    };
    for (const auto& name : root.list("sensitive")) {
        check("sensitive", name);
        out.sensitive.push_back(name);
    }
    out.target = root.text("target");
    if (out.target) check("target", *out.target);
    if (root.has("rules")) out.rules = read_rules(root.at("rules"), *out.schema, out.file);
}

json parse_json(const std::string& text, const std::string& file) {
    if (const auto flaw = find_flaw(text)) refuse(file + ": " + describe_flaw(*flaw, text));
    return json::parse(text);
}

}  // namespace

std::optional<pattern> pattern::parse(const std::string& text, std::string_view allowed) {
    constexpr std::array<std::pair<std::string_view, std::string_view filling::*>, 4> slots{
        {{"label", &filling::label}, {"value", &filling::value}, {"low", &filling::low}, {"high", &filling::high}}};
    pattern out;
    std::string_view rest = text;
    for (auto open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
        const auto close = rest.find('}');
        if (close == std::string_view::npos || close < open) return std::nullopt;
        const auto name = rest.substr(open + 1, close - open - 1);
        const auto slot = std::find_if(slots.begin(), slots.end(), [&](const auto& s) { return s.first == name; });
        if (slot == slots.end() || allowed.find(name) == std::string_view::npos) return std::nullopt;
        out.pieces_.emplace_back(rest.substr(0, open), slot->second);
        rest.remove_prefix(close + 1);
    }
    if (rest.find('}') != std::string_view::npos) return std::nullopt;
    out.pieces_.emplace_back(rest, nullptr);
    return out;
}

row_template read_template(const std::string& path) {
    return parse_template(read_file(path), path);
}

row_template parse_template(const std::string& text, const std::string& file) {
    const auto value = parse_json(checked_text(text, file), file);
    const node root(value, file, "");
    root.allow_only({"record", "person", "leave_out", "only_named", "opening", "missing", "unknown", "clause", "values",
                     "columns", "schema", "rows_per_person", "sensitive", "target", "rules"});
    row_template out;
    out.file = file;
    out.record = root.text("record");
    out.person = root.text("person");
    out.leave_out = root.list("leave_out");
    out.only_named = root.flag("only_named");
    out.opening = root.text("opening").value_or("");
    out.missing = root.has("missing") ? root.list("missing") : decltype(out.missing){"", "?", "None", "NULL"};
    out.unknown = root.text("unknown").value_or("unknown");
    out.clause = root.clause("clause", any_value).value_or(*pattern::parse("{label} is {value}.", any_value));
    if (root.has("schema")) out.schema = read_schema(root.at("schema"), file);
    if (root.has("columns")) read_columns(root, out);
    if (root.has("rows_per_person")) out.rows_per_person = read_rows_per_person(root, out);
    check_schema(out);
    read_questions(root, out);
    return out;
}
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
    if (schema) return std::any_of(schema->begin(), schema->end(), [&](const auto& one) { return one.name == column; });
    return !only_named || columns.contains(column);
}

bool row_template::tells_values_of(std::string_view column) const {
    const auto rule = columns.find(column);
    const bool listed = rule != columns.end() && (rule->second.codes || !rule->second.values.empty());
    const bool declared = schema && std::any_of(schema->begin(), schema->end(), [&](const auto& one) {
                              return one.name == column && std::holds_alternative<category_type>(one.type);
                          });
    return tells(column) && !listed && !declared;
}

row_renderer::row_renderer(const row_template& how, const table& rows, const code_book* codes)
    : how_(how), rows_(rows) {
    check_columns();
    if (how.schema) {
        for (const auto& column : *how.schema) add_field(*rows.find(column.name), codes);
        return;
    }
    for (std::size_t c = 0; c < rows.columns().size(); ++c)
        if (how.tells(rows.columns()[c])) add_field(c, codes);
}

void row_renderer::add_field(std::size_t column, const code_book* codes) {
    const auto& name = rows_.columns()[column];
    const auto& rule = find_column_rule(name);
    fields_.push_back({column, &rule, codes && rule.codes ? &find_meanings(name, *rule.codes, *codes) : nullptr});
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
    if (how_.schema)
        for (const auto& column : *how_.schema) need(column.name);
}

const column_rule& row_renderer::find_column_rule(const std::string& column) {
    if (const auto named = how_.columns.find(column); named != how_.columns.end()) return named->second;
    auto label = column;
    std::replace(label.begin(), label.end(), '_', ' ');
    return plain_.emplace(column, column_rule{.label = label, .clause = how_.clause}).first->second;
}

const words& row_renderer::find_meanings(const std::string& column, const std::string& name,
                                         const code_book& codes) const {
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

std::string publish_template(const std::string& text, const std::string& file, const code_book* codes) {
    const auto how = parse_template(text, file);
    auto out = nlohmann::ordered_json::parse(text);
    require(how.schema.has_value(), "a template is published for its schema");
    for (const auto* key : {"record", "person", "leave_out"}) out.erase(key);  // columns that are never told
    for (const auto* key : {"sensitive", "target", "rules"}) out.erase(key);   // no row is made by them
    for (std::size_t c = 0; c < how.schema->size(); ++c) {
        const auto& [name, type, required] = (*how.schema)[c];
        const auto found = how.columns.find(name);
        if (found == how.columns.end() || !found->second.codes) continue;
        const auto& rule = found->second;
        const auto* category = std::get_if<category_type>(&type);
        const bool all_codes = category != nullptr && category->all_codes;
        auto& written = out["columns"][name];
        auto& declared = out["schema"][c];
        written.erase("codes");
        if (!codes) {  // codes stay codes, of which nobody has a list
            if (all_codes) declared.erase("category");
            continue;
        }
        const auto table = codes->find(*rule.codes);
        if (table == codes->end())
            refuse(fmt::format("{}: columns.{}.codes: the code book has no table \"{}\"", file, name, *rule.codes));
        auto told = nlohmann::ordered_json::object(), known = nlohmann::ordered_json::array();
        std::set<std::string> seen = {how.unknown};  // of codes that are told alike one is enough, of unknown ones none
        // A pattern or free text lists no codes: what is told stands for them.
        if (std::holds_alternative<text_type>(type) || std::holds_alternative<code_type>(type)) {
            declared.erase("code");
            continue;
        }
        for (const auto& [code, meaning] : table->second) {
            if (!conforms(code, type)) continue;
            const auto said = rule.values.find(meaning);
            const auto word = said != rule.values.end()       ? said->second
                              : how.missing.contains(meaning) ? how.unknown
                                                              : meaning;
            told[code] = word;
            if (seen.insert(word).second) known.push_back(code);
        }
        if (!all_codes) {
            written["values"] = std::move(told);
        } else if (known.empty() || known.size() > most_categories) {  // more than a list may have
            declared.erase("category");
        } else {
            written["values"] = std::move(told);
            declared["category"] = std::move(known);
        }
    }
    auto published = out.dump(2) + "\n";
    parse_template(published, file);
    return published;
}

}  // namespace rldp::data
