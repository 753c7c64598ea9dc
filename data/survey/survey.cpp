#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "data/sources/json_lines.hpp"
#include "data/sources/schema.hpp"
#include "data/sources/tables.hpp"
#include "data/sources/text.hpp"
#include "data/survey/survey.hpp"

namespace rldp::data {

void column_watch::see(std::string_view value) {
    const auto none = std::find(values_for_none.begin(), values_for_none.end(), value);
    if (none != values_for_none.end()) {
        ++missing_[static_cast<std::size_t>(none - values_for_none.begin())];
        return;
    }
    ++present_;
    const auto hash = std::hash<std::string_view>{}(value);
    if (seen_.size() < most_distinct) seen_.insert(hash);
    const bool comma = with_decimal_point(value).has_value();
    if (comma) ++decimal_commas_;
    if (comma || is_plain_number(value))
        see_number(comma ? *with_decimal_point(value) : std::string(value));
    else if (words_.size() < 2)
        words_.insert(hash);
}

void column_watch::see_number(const std::string& value) {
    const double number = std::strtod(value.c_str(), nullptr);
    lowest_ = numbers_ == 0 ? number : std::min(lowest_, number);
    highest_ = numbers_ == 0 ? number : std::max(highest_, number);
    ++numbers_;
    if (const auto point = value.find('.'); point != std::string::npos)
        decimals_ = std::max(decimals_, value.size() - point - 1);
}

std::string column_watch::describe() const {
    if (present_ > 0 && numbers_ == present_)
        return decimals_ == 0 ? fmt::format("whole numbers from {} to {}", lowest_, highest_)
                              : fmt::format("numbers from {} to {}, {} decimals at most", lowest_, highest_, decimals_);
    return fmt::format("{}{} values", seen_.size() == most_distinct ? "at least " : "", seen_.size());
}

bool column_watch::says_nothing() const {
    const auto missing = std::accumulate(missing_.begin(), missing_.end(), std::size_t{0});
    return seen_.empty() || (seen_.size() == 1 && missing == 0 && present_ > 1);
}

std::size_t column_watch::words_among_numbers() const {
    return words_.size() == 1 && 2 * numbers_ > present_ ? present_ - numbers_ : 0;
}

namespace {

using watches = std::vector<column_watch>;

template <class Rows>
watches watch(Rows& rows, survey& into) {
    watches out;
    while (const auto block = rows.next()) {
        if (into.columns.empty())
            for (const auto& name : block->columns()) into.columns.push_back({.name = name});
        out.resize(into.columns.size());
        for (std::size_t row = 0; row < block->rows(); ++row)
            for (std::size_t c = 0; c < out.size(); ++c) out[c].see(block->cell(row, c));
        into.records += block->rows();
    }
    return out;
}

/// Null where there is none, or where it is no JSON.
nlohmann::json read_first_line(const std::string& path) {
    piece_reader pieces(path, false);
    while (const auto part = pieces.next())
        if (const auto lines = split_lines(part->text); !lines.empty())
            return nlohmann::json::parse(lines.front().text, nullptr, false);
    return {};
}

column_facts* named(survey& in, const std::string& name, const char* option) {
    const auto found =
        std::find_if(in.columns.begin(), in.columns.end(), [&](const auto& c) { return c.name == name; });
    if (found != in.columns.end()) return &*found;
    std::vector<std::string> names;
    for (const auto& column : in.columns) names.push_back(column.name);
    refuse(fmt::format("{} {}: no such column; there are {}", option, name, fmt::join(names, ", ")));
}

/// Whose the records are, as the owner says.
void find_person(survey& in, const profile_hints& hints) {
    if (hints.person && *hints.person != "none") named(in, *hints.person, "--person")->role = column_role::person;
}

/// Names alone decide, and the owner: what values decided would show in the template, which is public.
void find_rest(survey& in, const profile_hints& hints) {
    for (auto& column : in.columns)
        if (column.role == column_role::rendered && column.named != naming::nothing)
            column.role = column_role::left_out;
    for (const auto& name : hints.kept) {
        auto* column = named(in, name, "--keep-identifier");
        if (column->named == naming::nothing)
            refuse(
                fmt::format("--keep-identifier {}: that column is told anyway, for its name is no identifier's", name));
        if (column->role == column_role::left_out) column->role = column_role::rendered;
    }
    for (const auto& name : hints.left_out) {
        auto* column = named(in, name, "--leave-out");
        if (column->role == column_role::person)
            refuse(fmt::format("--leave-out {}: that is --person, which is never told", name));
        column->role = column_role::left_out;
    }
    for (auto& column : in.columns)
        if (column.role == column_role::rendered && names_free_text(column.name)) column.role = column_role::free_text;
}

void find_target(survey& in, const profile_hints& hints) {
    if (!hints.target || *hints.target == "none") return;
    auto* column = named(in, *hints.target, "--target");
    if (column->role != column_role::rendered)
        refuse(fmt::format("--target {}: that column is not told, so it can't be guessed", column->name));
    in.target = column->name;
}

void name_columns(survey& in, const std::string& path) {
    const auto book = find_code_book_path({.path = path, .ids_mapping = {}, .narrative = {}, .group = {}});
    const auto codes = book ? read_code_book(*book) : code_book{};
    for (auto& column : in.columns)
        column.named = codes.contains(column.name) ? naming::nothing : classify_name(column.name);
}

/// Nobody takes "" or "?" for a value; "NA" is Namibia, too.
std::vector<std::pair<std::string, std::size_t>> taken_for_none(const column_watch& seen) {
    std::vector<std::pair<std::string, std::size_t>> out;
    for (std::size_t i = 0; i < values_for_none.size(); ++i)
        if (seen.missing()[i] > 0 && values_for_none[i].size() > 1)
            out.emplace_back(values_for_none[i], seen.missing()[i]);
    return out;
}

/// As templates read a column without a label.
std::string default_label(std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

std::string make_label(const std::string& name) {
    const auto words = words_of_name(name);
    return words.empty() ? name : fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

const column_facts* survey::find(column_role role) const {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.role == role; });
    return found != columns.end() ? &*found : nullptr;
}

survey profile_data(const std::string& path, const profile_hints& hints) {
    survey out;
    out.kind = kind_of_data(path);
    watches seen;
    if (out.kind == data_kind::table) {
        csv_stream rows(path);
        seen = watch(rows, out);
        out.delimiter = rows.delimiter();
    } else if (out.kind == data_kind::json_lines) {
        const auto first = read_first_line(path);
        out.has_chats = first.contains("messages");
        out.has_text = !out.has_chats && first.contains("text");
        json_table_stream rows(path, out.has_chats || out.has_text);
        seen = watch(rows, out);
    } else {
        const auto lines = open_records({.path = path, .ids_mapping = {}, .narrative = {}, .group = {}});
        while (const auto block = lines->next()) out.records += block->size();
    }
    if (out.records == 0) refuse(path + ": no records; give a file that has some");
    for (std::size_t i = 0; i < seen.size(); ++i) {
        out.columns[i].says_nothing = seen[i].says_nothing();
        out.columns[i].distinct = seen[i].distinct();
        out.columns[i].decimal_commas = seen[i].decimal_commas();
        out.columns[i].words_among_numbers = seen[i].words_among_numbers();
        out.columns[i].taken_for_none = taken_for_none(seen[i]);
        out.columns[i].seen = seen[i].describe();
    }
    name_columns(out, path);
    find_person(out, hints);
    if (out.has_text || out.has_chats) {
        for (auto& column : out.columns)
            if (column.role == column_role::rendered)
                column.role = column.name == "text" ? column_role::free_text : column_role::left_out;
        return out;
    }
    find_rest(out, hints);
    find_target(out, hints);
    return out;
}

std::vector<const column_facts*> survey::identifiers() const {
    std::vector<const column_facts*> out;
    for (const auto& column : columns)
        if (column.named != naming::nothing) out.push_back(&column);
    return out;
}

profile_advice advise_columns(const survey& found) {
    constexpr std::size_t most_classes = 20;
    profile_advice out;
    for (const auto& column : found.columns) {
        if (!out.person && column.named == naming::person && column.distinct > 1) out.person = column.name;
        if (column.role == column_role::rendered && names_a_target(column.name) && column.distinct >= 2 &&
            column.distinct <= most_classes)
            out.target = column.name;
        if (column.role == column_role::rendered && column.says_nothing) out.say_nothing.push_back(column.name);
    }
    return out;
}

namespace {

std::vector<std::string> split_at(std::string_view text, char mark) {
    std::vector<std::string> out;
    for (;;) {
        const auto end = std::min(text.find(mark), text.size());
        out.emplace_back(text.substr(0, end));
        if (end == text.size()) return out;
        text.remove_prefix(end + 1);
    }
}

/// What the owner says of a type, as the schema's keys; what is wrong with them read_schema says.
nlohmann::ordered_json read_type(const std::string& said) {
    const auto equals = said.find('='), colon = said.find(':', equals == std::string::npos ? 0 : equals);
    if (equals == std::string::npos || colon == std::string::npos)
        refuse(fmt::format("--type {}: write COLUMN=KIND:WHAT, such as age=integer:0:120 or sex=category:female,male",
                           said));
    const auto kind = said.substr(equals + 1, colon - equals - 1), what = said.substr(colon + 1);
    nlohmann::ordered_json out = {{"column", said.substr(0, equals)}};
    const auto number = [&](const std::string& text) {
        auto read = nlohmann::ordered_json::parse(text, nullptr, false);
        if (!read.is_number()) refuse(fmt::format("--type {}: \"{}\" is no number", said, text));
        return read;
    };
    const auto words = split_at(what, kind == "category" ? ',' : ':');
    if (kind == "category") {
        out[kind] = words;
    } else if (kind == "code") {
        out[kind] = what;
    } else if (kind == "text" && words.size() == 1) {
        out[kind] = number(words[0]);
    } else if ((kind == "integer" && words.size() == 2) || (kind == "number" && words.size() == 3)) {
        out[kind] = {number(words[0]), number(words[1])};
        if (kind == "number") out["step"] = number(words[2]);
    } else if (kind == "date" && (words.size() == 2 || words.size() == 3)) {
        out[kind] = {words[0], words[1]};
        if (words.size() == 3) out["format"] = words[2];
    } else {
        refuse(fmt::format(
            "--type {}: kinds are category:A,B integer:LOW:HIGH number:LOW:HIGH:STEP date:FIRST:LAST code:PATTERN "
            "text:CHARACTERS",
            said));
    }
    return out;
}

nlohmann::ordered_json make_schema(const survey& found, const std::vector<std::string>& types) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& column : found.columns)
        if (column.role == column_role::rendered || column.role == column_role::free_text)
            out.push_back({{"column", column.name}});
    for (const auto& said : types) {
        auto type = read_type(said);
        const auto place =
            std::find_if(out.begin(), out.end(), [&](const auto& one) { return one["column"] == type["column"]; });
        if (place == out.end()) refuse(fmt::format("--type {}: no column of that name is told", said));
        if (place->size() > 1) refuse(fmt::format("--type {}: the column has a type already", said));
        *place = std::move(type);
    }
    if (!out.empty()) read_schema(nlohmann::json(out), "--type");
    return out;
}

}  // namespace

std::string template_for(const survey& found, const std::string& path, const std::vector<std::string>& types) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    if (const auto* person = found.find(column_role::person)) out["person"] = person->name;
    auto& left_out = out["leave_out"] = nlohmann::ordered_json::array();
    bool any_rendered = false;
    for (const auto& column : found.columns) {
        if (column.role == column_role::left_out) left_out.push_back(column.name);
        any_rendered = any_rendered || column.role == column_role::rendered;
    }
    if (left_out.empty()) out.erase("leave_out");
    if (any_rendered) out["opening"] = fmt::format("A record of {}.", make_label(bare_name(path)));
    out["missing"] = values_for_none;
    out["clause"] = "{label}: {value}.";  // grammatical for every column
    auto& columns = out["columns"] = nlohmann::ordered_json::object();
    // A text ends where words do that follow it: its own, or the next column's.
    constexpr auto ending = "{label}: {value} (end)";
    for (const auto& column : found.columns) {
        if (column.role != column_role::free_text && column.role != column_role::rendered) continue;
        if (make_label(column.name) != default_label(column.name))
            columns[column.name]["label"] = make_label(column.name);
        if (column.role == column_role::free_text) columns[column.name]["clause"] = ending;
    }
    auto schema = make_schema(found, types);
    if (!schema.empty() && (schema.back().size() == 1 || schema.back().contains("text")))
        columns[schema.back()["column"].get<std::string>()]["clause"] = ending;
    if (columns.empty()) out.erase("columns");
    if (!schema.empty()) out["schema"] = std::move(schema);
    return out.dump(2) + "\n";
}

}  // namespace rldp::data
