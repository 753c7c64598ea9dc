#include "run/synthesis/row_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "data/grammar/dates.hpp"
#include "data/grammar/parts.hpp"
#include "data/sources/made_up_rows.hpp"

namespace rldp::actors {

namespace planned_columns {

/// How one column is told: clauses that are known whole, and the frame around every other value.
struct told_column {
    std::vector<std::pair<std::string, std::string>> listed;  ///< clause, cell
    std::optional<column_values::frame> frame;
    std::shared_ptr<const data::part> values;  ///< within the frame
};

/// Tells cells of one column, as the whole template would.
class column_teller {
  public:
    column_teller(const data::row_template& how, const data::column_schema& column) : name_(column.name) {
        how_ = how;
        how_.record = how_.person = std::nullopt;
        how_.leave_out.clear();
        how_.opening.clear();
        how_.schema = {column};
        std::erase_if(how_.columns, [&](const auto& rule) { return rule.first != column.name; });
    }
    std::string tell(const std::string& cell, std::vector<data::clause>* clauses = nullptr) const {
        data::table row(how_.file, {name_});
        row.add_row(std::vector{cell}, 1);
        return data::row_renderer(how_, row, nullptr)(0, clauses);
    }
    std::vector<std::string> tell_all(const std::vector<std::string>& cells) const {
        data::table rows(how_.file, {name_});
        for (const auto& cell : cells) rows.add_row(std::vector{cell}, 1);
        const data::row_renderer narrate(how_, rows, nullptr);
        std::vector<std::string> out;
        for (std::size_t i = 0; i < cells.size(); ++i) out.push_back(narrate(i));
        return out;
    }

  private:
    std::string name_;
    data::row_template how_;
};

/// What is known of a column, once it is asked for.
struct column_state {
    column_state(const data::row_template& how, const data::column_schema& column) : teller(how, column) {}
    column_teller teller;
    std::optional<told_column> told = {};
    std::shared_ptr<const column_values> apart, behind_blank;
};

}  // namespace planned_columns

namespace {

using planned_columns::column_state;
using planned_columns::column_teller;
using planned_columns::told_column;

[[noreturn]] void refuse_column(const data::row_template& how, const std::string& column, const std::string& what) {
    refuse(fmt::format("{}: column \"{}\": {}", how.file, column, what));
}

/// The cells of a column of which there are few enough; none where they are not listed.
std::optional<std::vector<std::string>> list_cells(const data::column_type& type) {
    constexpr std::int64_t most_listed = 1000;
    if (const auto* category = std::get_if<data::category_type>(&type)) return category->values;
    if (const auto* date = std::get_if<data::date_type>(&type))
        return data::list_dates(date->first, date->last, date->format);
    const auto* number = std::get_if<data::number_type>(&type);
    if (number == nullptr || number->range.decimals > 0 || number->range.count() > most_listed) return std::nullopt;
    std::vector<std::string> out;
    for (auto units = number->range.low; units <= number->range.high; units += number->range.step)
        out.push_back(number->range.spell(units));
    return out;
}

/// Cells that a rule tells in words of their own.
std::vector<std::string> list_exceptions(const data::column_schema& column, const data::column_rule* rule) {
    std::set<std::string> out;
    if (rule != nullptr) {
        for (const auto& [cell, unused] : rule->values) out.insert(cell);
        for (const auto& [cell, unused] : rule->sentences) out.insert(cell);
        if (rule->count && rule->count->zero) out.insert("0");
        if (rule->count && rule->count->one) out.insert("1");
    }
    std::erase_if(out, [&](const auto& cell) { return !data::conforms(cell, column.type); });
    return {out.begin(), out.end()};
}

/// A text of the part, told in no words of its own.
std::string find_example(const data::part& values, const std::vector<std::string>& exceptions) {
    // Whatever begins a text can be ended: the first way leads to one, and only exceptions turn the search back.
    struct step {
        data::mark at;
        int next = 0;  ///< bytes tried, from the first that is printed on
    };
    constexpr int first_printed = 0x21, bytes = 256;
    std::string text;
    std::vector<step> way = {{values.begin()}};
    while (!way.empty()) {
        auto& here = way.back();
        if (here.next == 0 && values.ends(here.at) &&
            std::find(exceptions.begin(), exceptions.end(), text) == exceptions.end())
            return text;
        std::optional<data::mark> to;
        while (!to && here.next < bytes) {
            const auto byte = static_cast<std::uint8_t>(first_printed + here.next++);
            to = values.next(here.at, byte);
            if (to) text += static_cast<char>(byte);
        }
        if (to) {
            way.push_back({*to});
        } else {
            way.pop_back();
            if (!text.empty()) text.pop_back();
        }
    }
    return {};
}

/// Without the exceptions at the range's ends, such as 0 and 1 of counts: those are listed.
data::number_range without(data::number_range range, const std::vector<std::string>& exceptions) {
    const auto is_exception = [&](std::int64_t units) {
        return std::find(exceptions.begin(), exceptions.end(), range.spell(units)) != exceptions.end();
    };
    while (range.low < range.high && is_exception(range.low)) range.low += range.step;
    while (range.high - range.step > range.low && is_exception(range.high)) range.high -= range.step;
    return range;
}

std::shared_ptr<const data::part> make_values(const data::column_type& type,
                                              const std::vector<std::string>& exceptions) {
    if (const auto* number = std::get_if<data::number_type>(&type))
        return data::make_number(without(number->range, exceptions));
    if (const auto* code = std::get_if<data::code_type>(&type)) return code->spelled;
    return data::make_text(std::get<data::text_type>(type).most);
}

void find_frame(const data::row_template& how, const data::column_schema& column, const column_teller& teller,
                const std::vector<std::string>& exceptions, told_column& out) {
    out.values = make_values(column.type, exceptions);
    const auto example = find_example(*out.values, exceptions);
    if (example.empty())
        refuse_column(how, column.name, "it has no value that is told as it is; declare it as category");
    std::vector<data::clause> clauses;
    const auto clause = teller.tell(example, &clauses);
    const auto& values = clauses.at(0).values;
    if (values.size() != 1 || clause.substr(values[0].begin, values[0].end - values[0].begin) != example)
        refuse_column(
            how, column.name,
            "its clause does not tell the value once and as it is; declare it as category, or mend the clause");
    out.frame = {clause.substr(0, values[0].begin), clause.substr(values[0].end)};
}

told_column tell_column(const data::row_template& how, const data::column_schema& column, const column_teller& teller) {
    told_column out;
    const auto rule = how.columns.find(column.name);
    const auto* own = rule != how.columns.end() ? &rule->second : nullptr;
    const auto* number = std::get_if<data::number_type>(&column.type);
    if (own != nullptr && own->count && number != nullptr && (number->range.decimals > 0 || number->range.low < 0))
        refuse_column(how, column.name, "its rule \"count\" tells whole numbers from 0 on; declare it so");
    auto cells = list_cells(column.type);
    if (!cells) {
        cells = list_exceptions(column, own);
        find_frame(how, column, teller, *cells, out);
    }
    const auto told = teller.tell_all(*cells);
    std::map<std::string, std::string> seen;
    for (std::size_t i = 0; i < told.size(); ++i) {
        const auto [other, fresh] = seen.emplace(told[i], (*cells)[i]);
        if (!fresh)
            refuse_column(
                how, column.name,
                fmt::format("\"{}\" and \"{}\" are told alike; keep one of them", other->second, (*cells)[i]));
        out.listed.emplace_back(told[i], (*cells)[i]);
    }
    if (!column.required)
        if (const auto none = data::missing_cell(how); seen.emplace(teller.tell(none), none).second)
            out.listed.emplace_back(teller.tell(none), none);
    return out;
}

bool is_word_byte(char c) {
    return (static_cast<std::uint8_t>(c) & 0x80U) != 0 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/// What all ways to tell the column begin and end with: those words are given. They are cut where words are.
column_values::frame find_common(const told_column& column) {
    const auto& first = column.listed.empty() ? column.frame->before : column.listed.front().first;
    std::string_view before = first;
    std::string_view after = column.frame ? std::string_view(column.frame->after) : std::string_view(first);
    const auto shorten_before = [&](std::string_view other) {
        const auto [here, there] = std::mismatch(before.begin(), before.end(), other.begin(), other.end());
        before = before.substr(0, static_cast<std::size_t>(here - before.begin()));
    };
    if (column.frame) shorten_before(column.frame->before);
    for (const auto& [clause, unused] : column.listed) shorten_before(clause);
    const auto blank = before.rfind(' ');
    if (!column.frame || before.size() < column.frame->before.size())
        before = blank == std::string_view::npos ? std::string_view() : before.substr(0, blank + 1);
    for (const auto& [clause, unused] : column.listed) {
        const std::string_view rest = std::string_view(clause).substr(before.size());
        const auto [here, there] = std::mismatch(after.rbegin(), after.rend(), rest.rbegin(), rest.rend());
        after = after.substr(after.size() - static_cast<std::size_t>(here - after.rbegin()));
    }
    if (!column.frame || after.size() < column.frame->after.size())
        while (!after.empty() && is_word_byte(after.front())) after.remove_prefix(1);
    return {std::string(before), std::string(after)};
}

std::string spell_all(const data::vocabulary& tokens, const std::vector<std::int32_t>& ids) {
    std::string out;
    for (const auto id : ids) out += tokens.spell(id);
    return out;
}

data::vocabulary read_vocabulary(const models::tokenizer& words) {
    std::vector<std::string> spelled;
    for (std::int32_t id = 0; id < words.size(); ++id) spelled.push_back(words.spell(id));
    return data::vocabulary(std::move(spelled));
}

/// Whether the text is one of the column's values, spelled as those that are drawn.
bool admits(const data::column_schema& column, bool decimal_comma, std::string cell) {
    if (!std::holds_alternative<data::number_type>(column.type) &&
        !std::holds_alternative<data::text_type>(column.type))
        return data::conforms(cell, column.type);
    if (decimal_comma) {
        if (cell.find('.') != std::string::npos) return false;
        std::replace(cell.begin(), cell.end(), ',', '.');
    }
    const auto spelled = make_values(column.type, {});
    auto at = std::optional(spelled->begin());
    for (const char c : cell)
        if (at) at = spelled->next(*at, static_cast<std::uint8_t>(c));
    return at && spelled->ends(*at);
}

}  // namespace

class row_planner::state {
  public:
    state(const data::row_template& how, const models::tokenizer& words, std::optional<std::int64_t> bos,
          std::int64_t window)
        : words_(words), bos_(bos), window_(window) {
        auto table = table_plan{.how = how, .columns = {}, .tokens = read_vocabulary(words)};
        // Neither keys nor other columns are made.
        table.how.record = table.how.person = std::nullopt;
        table.how.leave_out.clear();
        for (const auto& column : *how.schema) table.columns.push_back(column.name);
        table_ = std::make_shared<const table_plan>(std::move(table));
        for (const auto& column : *table_->how.schema) columns_.emplace_back(table_->how, column);
    }

    const std::shared_ptr<const table_plan>& table() const { return table_; }

    row_plan plan(const std::vector<std::optional<std::string>>& given) {
        row_plan out{.table = table_, .given = given, .opening_text = {}, .opening = {}, .slots = {}};
        require(given.size() == table_->columns.size(), "cells of another table");
        auto pending = table_->how.opening;
        for (std::size_t c = 0; c < given.size(); ++c) {
            if (c > 0 || !pending.empty()) pending += ' ';
            add(c, out, pending);
        }
        close(out, pending);
        encode(out);
        check_room(out);
        return out;
    }

  private:
    void add(std::size_t c, row_plan& out, std::string& pending) {
        auto& column = columns_[c];
        const auto& declared = (*table_->how.schema)[c];
        if (out.given[c]) {
            pending += column.teller.tell(*out.given[c]);
            return;
        }
        if (!column.told) column.told = tell_column(table_->how, declared, column.teller);
        const auto& told = *column.told;
        if (told.listed.size() == 1 && !told.frame) {
            out.given[c] = told.listed.front().second;
            pending += told.listed.front().first;
            return;
        }
        const auto common = find_common(told);
        pending += common.before;
        // A blank goes to the value, but for one that nothing stands before.
        const bool blank = pending.ends_with(' ') && (pending.size() > 1 || out.slots.empty());
        if (blank) pending.pop_back();
        close(out, pending);
        auto& values = blank ? column.behind_blank : column.apart;
        if (!values) values = make_slot_values(c, told, common, blank ? " " : "");
        out.slots.push_back({.of = values, .after_text = {}});
        pending = common.after;
    }

    std::shared_ptr<const column_values> make_slot_values(std::size_t c, const told_column& told,
                                                          const column_values::frame& common, const std::string& lead) {
        const auto& how = table_->how;
        const auto& declared = (*how.schema)[c];
        const auto inside = [&](std::string_view clause) {
            return lead + std::string(clause.substr(common.before.size(),
                                                    clause.size() - common.before.size() - common.after.size()));
        };
        std::map<std::string, std::string, std::less<>> cells;
        std::vector<std::string> listed;
        for (const auto& [clause, cell] : told.listed) {
            listed.push_back(inside(clause));
            cells.emplace(listed.back(), cell);
        }
        std::vector<data::part_chain> forms;
        if (!listed.empty()) forms.push_back({data::make_words(listed)});
        std::optional<column_values::frame> around;
        if (told.frame) {
            around = {lead + told.frame->before.substr(common.before.size()),
                      told.frame->after.substr(0, told.frame->after.size() - common.after.size())};
            data::part_chain chain;
            if (!around->before.empty()) chain.push_back(data::make_words({around->before}));
            chain.push_back(told.values);
            if (!around->after.empty()) chain.push_back(data::make_words({around->after}));
            forms.push_back(std::move(chain));
            listed.push_back(around->before + find_example(*told.values, {}) + around->after);
        }
        listed.resize(std::min<std::size_t>(listed.size(), 3));
        const auto rule = how.columns.find(declared.name);
        auto out = std::make_shared<column_values>(
            column_values{.number = known_++,
                          .column = c,
                          .values = data::language(std::move(forms)),
                          .cells = std::move(cells),
                          .around = std::move(around),
                          .is_text = std::holds_alternative<data::text_type>(declared.type),
                          .decimal_comma = rule != how.columns.end() && rule->second.decimal_comma,
                          .examples = std::move(listed),
                          .after = common.after});
        if (!can_spell(out->values)) refuse_column(how, declared.name, "the model's tokens spell none of its values");
        return out;
    }

    /// The words that gathered belong to what came before.
    void close(row_plan& out, std::string& pending) const {
        auto& to = out.slots.empty() ? out.opening_text : out.slots.back().after_text;
        to = std::exchange(pending, {});
        if (out.slots.empty() || !out.slots.back().of->is_text) return;
        // A full stop alone is in numbers and between sentences.
        if (std::none_of(to.begin(), to.end(), is_word_byte))
            refuse_column(table_->how, table_->columns[out.slots.back().of->column],
                          "it is free text, and no words tell where it ends; put some behind {value} in its clause, "
                          "such as \"{value} (end)\", or declare its type in the schema (docs/synthetic.md)");
    }

    void encode(row_plan& out) {
        auto ids = words_.encode(out.opening_text);
        // What a tokenizer puts behind a text does not stand within a row.
        while (!ids.empty() && !out.opening_text.empty() && table_->tokens.spell(ids.back()).empty()) ids.pop_back();
        if (ids.empty() && !bos_)
            refuse(table_->how.file +
                   ": a row begins with a value, and the model has no token to begin with; give the "
                   "template an \"opening\"");
        if (ids.empty()) ids.push_back(static_cast<std::int32_t>(*bos_));
        out.opening = std::move(ids);
        const std::string* before = &out.opening_text;
        for (auto& slot : out.slots) {
            if (!slot.after_text.empty()) slot.after = encode_after(*before, *slot.of, slot.after_text);
            find_ending(slot);
            before = &slot.after_text;
        }
    }

    /// A text's own words end it, where it has any: what is given behind them has no part in how long it gets.
    void find_ending(value_slot& slot) const {
        const auto& own = slot.of->after;
        const bool has_words = std::any_of(own.begin(), own.end(), is_word_byte);
        const auto enough = has_words ? own.size() : slot.after_text.size();
        while (slot.ending < slot.after.size() && slot.ending_text.size() < enough)
            slot.ending_text += table_->tokens.spell(slot.after[slot.ending++]);
    }

    /// Tokens of given words as they are cut behind a value that stands behind `before`; where no cut falls there, the
    /// longest that fit.
    std::vector<std::int32_t> encode_after(const std::string& before, const column_values& value,
                                           const std::string& text) {
        constexpr std::size_t most_kept = 10'000;
        if (encoded_.size() == most_kept) encoded_.clear();
        const auto [kept, fresh] = encoded_.try_emplace({value.number, before, text});
        if (fresh) kept->second = cut_after(before, value.examples, text);
        return kept->second;
    }

    std::vector<std::int32_t> cut_after(const std::string& before, const std::vector<std::string>& examples,
                                        const std::string& text) const {
        const auto& tokens = table_->tokens;
        for (const auto& example : examples) {
            const auto begin = before + example;
            const auto ids = words_.encode(begin + text);
            const auto ends = models::token_ends(words_, begin + text, ids);
            if (!ends) continue;
            std::vector<std::int32_t> out;
            for (std::size_t i = 1; i < ids.size(); ++i)
                if ((*ends)[i - 1] >= begin.size() && !tokens.spell(ids[i]).empty()) out.push_back(ids[i]);
            if (spell_all(tokens, out) == text) return out;
        }
        std::vector<std::int32_t> out;
        for (std::string_view rest = text; !rest.empty();) {
            const data::language whole({{data::make_words({std::string(rest)})}});
            std::int32_t best = -1;
            for (const auto id : tokens.admissible(whole, whole.begin()))
                if (best < 0 || tokens.spell(id).size() > tokens.spell(best).size()) best = id;
            if (best < 0) refuse(fmt::format("{}: the model's tokenizer can't spell \"{}\"", table_->how.file, text));
            out.push_back(best);
            rest.remove_prefix(tokens.spell(best).size());
        }
        return out;
    }

    /// Whether tokens lead to the end of some value. Where that is not found soon, it is taken to be so.
    bool can_spell(const data::language& values) const {
        constexpr std::size_t soon = 2000;
        std::vector<data::places> open = {values.begin()};
        std::set<data::places> seen(open.begin(), open.end());
        while (!open.empty()) {
            const auto at = open.back();
            open.pop_back();
            if (values.ends(at) || seen.size() > soon) return true;
            for (const auto id : table_->tokens.admissible(values, at))
                if (auto to = values.next(at, table_->tokens.spell(id)); seen.insert(to).second)
                    open.push_back(std::move(to));
        }
        return false;
    }

    void check_room(row_plan& out) const {
        std::int64_t least = 0, most = 0;
        for (const auto& slot : out.slots) {
            least += 1 + std::ssize(slot.after);
            most += std::ssize(slot.after);
            std::int64_t longest = 0;
            for (const auto& [told, unused] : slot.of->cells) longest = std::max(longest, std::ssize(told));
            if (const auto& around = slot.of->around)
                longest = std::max(
                    longest, std::ssize(around->before) + std::ssize(around->after) + most_bytes(slot.of->column));
            most += longest;
        }
        const auto room = window_ - std::ssize(out.opening);
        if (least > room)
            refuse(fmt::format(
                "{}: a row has {} tokens at least, more than the model's window of {}; leave columns out, or "
                "take another model",
                table_->how.file, least + std::ssize(out.opening), window_));
        out.most_tokens = std::min(room, most);
    }

    std::int64_t most_bytes(std::size_t column) const {
        const auto& type = (*table_->how.schema)[column].type;
        if (const auto* text = std::get_if<data::text_type>(&type)) return 4 * text->most;
        constexpr std::int64_t number = 18, code = 4000;
        return std::holds_alternative<data::number_type>(type) ? number : code;
    }

    const models::tokenizer& words_;
    std::optional<std::int64_t> bos_;
    std::int64_t window_;
    std::shared_ptr<const table_plan> table_;
    std::vector<column_state> columns_;
    std::size_t known_ = 0;
    std::map<std::tuple<std::size_t, std::string, std::string>, std::vector<std::int32_t>> encoded_;
};

row_planner::row_planner(const data::row_template& how, const models::tokenizer& words, std::optional<std::int64_t> bos,
                         std::int64_t window) {
    require(how.schema.has_value(), "rows are planned by a schema");
    state_ = std::make_unique<state>(how, words, bos, window);
}
row_planner::~row_planner() = default;

const table_plan& row_planner::table() const {
    return *state_->table();
}

std::vector<std::optional<std::string>> row_planner::check_given(const given_cells& given,
                                                                 const std::string& place) const {
    const auto& [how, columns, tokens] = table();
    std::vector<std::optional<std::string>> out(columns.size());
    for (const auto& [name, cell] : given) {
        const auto at = static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
        if (at == columns.size())
            refuse(fmt::format("{} {}: no such column; there are {}", place, name, fmt::join(columns, ", ")));
        const auto& column = (*how.schema)[at];
        const auto rule = how.columns.find(name);
        const bool comma = rule != how.columns.end() && rule->second.decimal_comma;
        const bool none = how.missing.contains(cell) && !column.required;
        if (!none && !admits(column, comma, cell))
            refuse(fmt::format("{} {}={}: must be {}{}", place, name, cell, data::describe(column.type),
                               comma ? ", written with a decimal comma" : ""));
        out[at] = cell;
    }
    return out;
}

row_plan row_planner::plan(const std::vector<std::optional<std::string>>& given) {
    return state_->plan(given);
}

row_plan plan_rows(const data::row_template& how, const given_cells& given, const models::tokenizer& words,
                   std::optional<std::int64_t> bos, std::int64_t window) {
    row_planner planner(how, words, bos, window);
    auto out = planner.plan(planner.check_given(given, "--where"));
    if (out.slots.empty()) refuse(how.file + ": every column is given; there is nothing to make");
    return out;
}

}  // namespace rldp::actors
