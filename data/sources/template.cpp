// Reads narrative templates.
#include <fmt/ranges.h>  // fmt::join

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/strict_json.hpp"
#include "data/sources/narrative.hpp"
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
                     "columns"});
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
    if (!root.has("columns")) return out;
    const auto columns = root.child("columns");
    for (const auto& [name, rule] : columns.raw().items()) {
        if (name == out.record || name == out.person || out.leave_out.contains(name))
            refuse(columns.place(name) + "the column is an identifier or left out, so it can't have a rule");
        out.columns.emplace(name, read_column(name, columns.child(name), root, out.clause));
    }
    return out;
}

}  // namespace rldp::data
