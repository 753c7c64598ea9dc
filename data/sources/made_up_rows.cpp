#include "data/sources/made_up_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <string_view>
#include <variant>
#include <vector>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/kinds.hpp"
#include "data/grammar/dates.hpp"

namespace rldp::data {

namespace {

using even_draws = std::mt19937_64;

/// From 0 up to `count`, which is above 0.
std::uint64_t draw_below(even_draws& from, std::uint64_t count) {
    return from() % count;
}

std::string draw_code(even_draws& from, const part& spelled) {
    std::string out;
    for (auto at = spelled.begin();;) {
        std::vector<std::pair<char, mark>> ways;
        for (int byte = 0; byte < 256; ++byte)
            if (const auto to = spelled.next(at, static_cast<std::uint8_t>(byte)))
                ways.emplace_back(static_cast<char>(byte), *to);
        const auto way = draw_below(from, ways.size() + (spelled.ends(at) ? 1 : 0));
        if (way == ways.size()) return out;
        out += ways[way].first;
        at = ways[way].second;
    }
}

std::string draw_text(even_draws& from, std::int64_t most) {
    constexpr std::array<std::string_view, 12> said{"some", "words", "of", "a",    "text", "that",
                                                    "was",  "made",  "up", "here", "as",   "such"};
    std::string out;
    for (auto left = 1 + draw_below(from, 8); left > 0; --left) {
        const auto word = said[draw_below(from, said.size())];
        if (std::ssize(out) + 1 + std::ssize(word) > most) break;
        out.append(out.empty() ? "" : " ").append(word);
    }
    return out.empty() ? "a" : out;
}

struct drawn_column {
    column_schema what;
    bool decimal_comma = false;
};

std::string draw_cell(even_draws& from, const drawn_column& column) {
    const auto& type = column.what.type;
    if (const auto* category = std::get_if<category_type>(&type))
        return category->values[draw_below(from, category->values.size())];
    if (const auto* number = std::get_if<number_type>(&type)) {
        const auto step =
            static_cast<std::int64_t>(draw_below(from, static_cast<std::uint64_t>(number->range.count())));
        auto out = number->range.spell(number->range.low + step * number->range.step);
        if (column.decimal_comma) std::replace(out.begin(), out.end(), '.', ',');
        return out;
    }
    if (const auto* date = std::get_if<date_type>(&type))
        return write_date(date->first + static_cast<std::int64_t>(
                                            draw_below(from, static_cast<std::uint64_t>(date->last - date->first + 1))),
                          date->format);
    if (const auto* code = std::get_if<code_type>(&type)) return draw_code(from, *code->spelled);
    return draw_text(from, std::get<text_type>(type).most);
}

}  // namespace

struct made_up_stream::state {
    std::vector<std::string> names;     ///< keys and columns left out first: they are empty, or numbers
    std::vector<drawn_column> columns;  ///< those of the schema
    std::string missing;
    std::int64_t rows, made = 0;
    std::uint64_t seed;
    even_draws draws;
    std::size_t keys = 0;

    std::vector<std::string> make() {
        constexpr std::uint64_t one_in = 10;  // values that are missing
        std::vector<std::string> out(keys, std::to_string(made + 1));
        out.resize(names.size() - columns.size());
        for (const auto& column : columns)
            out.push_back(!column.what.required && draw_below(draws, one_in) == 0 ? missing : draw_cell(draws, column));
        return out;
    }
};

std::string missing_cell(const row_template& how) {
    return how.missing.empty() || how.missing.contains("") ? std::string() : *how.missing.begin();
}

made_up_stream::made_up_stream(const row_template& how, const code_book* codes, std::int64_t rows, std::uint64_t seed)
    : state_(
          new state{.names = {}, .columns = {}, .missing = {}, .rows = rows, .seed = seed, .draws = even_draws(seed)}) {
    if (!how.schema)
        refuse(
            fmt::format("public.path: {} declares no schema, so there is nothing to make rows of; add one, or give "
                        "another public.path",
                        how.file));
    auto& names = state_->names;
    for (const auto& key : {how.record, how.person})
        if (key) names.push_back(*key);
    state_->keys = names.size();
    for (const auto& column : how.leave_out)
        if (std::find(names.begin(), names.end(), column) == names.end()) names.push_back(column);
    state_->missing = missing_cell(how);
    for (const auto& column : *how.schema) {
        names.push_back(column.name);
        const auto rule = how.columns.find(column.name);
        drawn_column drawn{column, rule != how.columns.end() && rule->second.decimal_comma};
        auto* category = std::get_if<category_type>(&drawn.what.type);
        if (category != nullptr && category->all_codes) {
            const auto found = codes != nullptr ? codes->find(*rule->second.codes) : code_book::const_iterator();
            if (codes == nullptr || found == codes->end())
                refuse(fmt::format("{}: columns.{}.codes: the code book has no table \"{}\"", how.file, column.name,
                                   *rule->second.codes));
            for (const auto& [code, unused] : found->second) category->values.push_back(code);
        }
        state_->columns.push_back(std::move(drawn));
    }
}
made_up_stream::~made_up_stream() = default;

std::optional<table> made_up_stream::next(std::int64_t rows) {
    if (state_->made == state_->rows) return std::nullopt;
    table out(fmt::format("{}{}", template_prefix, state_->rows), state_->names);
    for (const auto end = std::min(state_->rows, state_->made + rows); state_->made < end; ++state_->made)
        out.add_row(state_->make(), static_cast<std::size_t>(state_->made) + 2);
    return out;
}

void made_up_stream::rewind() {
    state_->made = 0;
    state_->draws = even_draws(state_->seed);
}

std::optional<std::int64_t> parse_template_rows(const std::string& path) {
    if (!is_of_template(path)) return std::nullopt;
    const auto text = std::string_view(path).substr(template_prefix.size());
    std::int64_t out = 0;
    const auto [stopped, status] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (status != std::errc{} || stopped != text.data() + text.size() || out < 1 ||
        out > limits::most_synthetic_records)
        refuse(fmt::format("public.path: {}: the number of rows must be an integer from 1 to {}", path,
                           limits::most_synthetic_records));
    return out;
}

}  // namespace rldp::data
