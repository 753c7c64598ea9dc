#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "data/grammar/dates.hpp"
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
    const bool plain = is_plain_number(value);  // 1.234 is no thousand
    const auto pointed = plain ? std::nullopt : with_decimal_point(value);
    if (pointed) ++decimal_commas_;
    if (plain || pointed)
        see_number(pointed.value_or(std::string(value)));
    else if (words_.size() < 2)
        words_.insert(hash);
    longest_ = std::max(longest_, value.size());
    if (!read_iso_date(value)) return;
    if (dates_ == 0 || value < first_) first_ = value;
    if (dates_ == 0 || value > last_) last_ = value;
    ++dates_;
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

namespace {

/// A number that `unit`, a power of ten, divides, with as many decimals.
std::string spell_multiple(double number, double unit) {
    return fmt::format("{:.{}f}", number + 0.0, std::max(0, -static_cast<int>(std::lround(std::log10(unit)))));
}

/// A power of ten, of one digit of `width` in front.
double unit_of(double width, double least) {
    return width > least ? std::pow(10, std::floor(std::log10(width))) : least;
}

}  // namespace

std::string column_watch::suggest_type() const {
    constexpr std::size_t most_decimals = 9, few = 20;
    constexpr double largest = 1e15;  // in steps
    const double step = std::pow(10, -static_cast<double>(decimals_));
    const bool in_range = decimals_ <= most_decimals && std::max(-lowest_, highest_) < largest * step / 10;
    if (present_ > 0 && numbers_ == present_ && in_range) {
        const double unit = unit_of(highest_ - lowest_, step);
        const auto low = spell_multiple(std::floor(lowest_ / unit) * unit, unit);
        const auto high = spell_multiple(std::ceil(highest_ / unit) * unit, unit);
        return decimals_ == 0 ? fmt::format("integer:{}:{}", low, high)
                              : fmt::format("number:{}:{}:{}", low, high, spell_multiple(step, step));
    }
    if (present_ > 0 && dates_ == present_)
        return fmt::format("date:{}-01-01:{}-12-31", first_.substr(0, 4), last_.substr(0, 4));
    if (seen_.size() <= few || seen_.size() * 10 <= std::min(present_, 10 * most_categories)) return "category:…";
    const auto longest = static_cast<double>(longest_), unit = unit_of(longest, 1);
    return fmt::format("text:{:.0f}", std::ceil(longest / unit) * unit);
}

bool column_watch::says_nothing() const {
    const auto missing = std::accumulate(missing_.begin(), missing_.end(), std::size_t{0});
    return seen_.empty() || (seen_.size() == 1 && missing == 0 && present_ > 1);
}

std::size_t column_watch::words_among_numbers() const {
    return words_.size() == 1 && 2 * numbers_ > present_ ? present_ - numbers_ : 0;
}

namespace {

/// How many values of a column its declared type has not.
class type_watch {
  public:
    explicit type_watch(column_type type) : type_(std::move(type)) {
        if (const auto* category = std::get_if<category_type>(&type_))
            listed_ = {category->values.begin(), category->values.end()};
        if (const auto* dates = std::get_if<date_type>(&type_))
            for (auto& day : list_dates(dates->first, dates->last, dates->format)) listed_.insert(std::move(day));
    }
    /// As a template reads it: of the words for none those of a category's list are values.
    void see(std::string_view value) {
        const bool has = listed_.empty() ? conforms(value, type_) : listed_.contains(value);
        const bool none = std::find(values_for_none.begin(), values_for_none.end(), value) != values_for_none.end();
        if (none && !(has && std::holds_alternative<category_type>(type_))) return;
        ++values_;
        if (!has) ++beyond_;
    }
    void tell(column_facts& of) const {
        of.declared = describe(type_);
        of.values = values_;
        of.beyond_type = beyond_;
    }

  private:
    column_type type_;
    std::set<std::string, std::less<>> listed_;  ///< values of a list, and dates; of other types none
    std::size_t values_ = 0, beyond_ = 0;
};
using type_watches = std::map<std::string, type_watch>;

using watches = std::vector<column_watch>;

template <class Rows>
watches watch(Rows& rows, type_watches& types, survey& into) {
    watches out;
    std::vector<type_watch*> declared;
    while (const auto block = rows.next()) {
        if (into.columns.empty())
            for (const auto& name : block->columns()) {
                into.columns.push_back({.name = name});
                const auto type = types.find(name);
                declared.push_back(type == types.end() ? nullptr : &type->second);
            }
        out.resize(into.columns.size());
        for (std::size_t row = 0; row < block->rows(); ++row)
            for (std::size_t c = 0; c < out.size(); ++c) {
                out[c].see(block->cell(row, c));
                if (declared[c]) declared[c]->see(block->cell(row, c));
            }
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

std::vector<std::string> split_at(std::string_view text, char mark) {
    std::vector<std::string> out;
    for (;;) {
        const auto end = std::min(text.find(mark), text.size());
        out.emplace_back(text.substr(0, end));
        if (end == text.size()) return out;
        text.remove_prefix(end + 1);
    }
}

/// The words between commas. One that has a comma or begins with a quote stands in quotes, as in a table's file.
std::vector<std::string> split_list(std::string_view text, const std::string& said) {
    std::vector<std::string> out(1);
    bool begins = true, quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && text.substr(i + 1, 1) == "\"") {
            out.back() += text[i++];
        } else if (c == '"' && (begins || quoted)) {
            quoted = !quoted;
            if (!quoted && i + 1 < text.size() && text[i + 1] != ',')
                refuse(fmt::format("--type {}: a comma belongs behind the quote that ends a value", said));
        } else if (c == ',' && !quoted) {
            out.emplace_back();
        } else {
            out.back() += c;
        }
        begins = c == ',' && !quoted;
    }
    if (quoted) refuse(fmt::format("--type {}: a quote is not closed; one in a quoted value is doubled", said));
    return out;
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
    const auto words = kind == "category" ? split_list(what, said) : split_at(what, ':');
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

/// What is said twice of a column, or of none, template_for() refuses.
type_watches watch_types(const std::vector<std::string>& types) {
    type_watches out;
    for (const auto& said : types) {
        const auto schema = read_schema(nlohmann::json::array({nlohmann::json(read_type(said))}), "--type " + said);
        out.emplace(schema.front().name, schema.front().type);
    }
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
    auto types = watch_types(hints.types);
    if (out.kind == data_kind::table) {
        csv_stream rows(path);
        seen = watch(rows, types, out);
        out.delimiter = rows.delimiter();
    } else if (out.kind == data_kind::json_lines) {
        const auto first = read_first_line(path);
        out.has_chats = first.contains("messages");
        out.has_text = !out.has_chats && (first.contains("text") || first.is_string());
        json_table_stream rows(path, out.has_chats || out.has_text);
        seen = watch(rows, types, out);
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
        out.columns[i].type = seen[i].suggest_type();
        if (const auto type = types.find(out.columns[i].name); type != types.end()) type->second.tell(out.columns[i]);
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

/// Why a type has no column to be of.
[[noreturn]] void refuse_type(const survey& found, const std::string& name, const std::string& said) {
    const auto column =
        std::find_if(found.columns.begin(), found.columns.end(), [&](const auto& one) { return one.name == name; });
    if (column == found.columns.end()) refuse(fmt::format("--type {}: no column has that name", said));
    if (column->role == column_role::person)
        refuse(fmt::format("--type {}: that column says whose the record is, which is never told", said));
    if (column->named == naming::nothing)
        refuse(fmt::format("--type {}: that column is left out by --leave-out", said));
    refuse(
        fmt::format("--type {}: that column is left out, for its name looks like an identifier's; --keep-identifier "
                    "{} tells it all the same",
                    said, name));
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
        if (place == out.end()) refuse_type(found, type["column"], said);
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
