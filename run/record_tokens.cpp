#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "models/marked_token.hpp"
#include "models/weights.hpp"
#include "run/record_tokens.hpp"

namespace rldp::actors {

namespace {

constexpr std::string_view said = "Hello.";

/// What is learned of an answer, without white space at its end, and what stands before it.
std::optional<std::string> up_to_end(const data::chat_template& how) {
    const std::string hello(said);
    try {
        auto rendered = how.conversation(std::vector<data::chat_message>{{"user", hello}, {"assistant", hello}});
        if (rendered.answers.empty()) return std::nullopt;
        rendered.text.resize(rendered.answers.back().end);
        rendered.text.resize(rendered.text.find_last_not_of(" \t\r\n") + 1);
        return rendered.text;
    } catch (const error&) {
        return std::nullopt;  // some want other roles; the records will tell
    }
}

bool ends_with_token(const std::filesystem::path& model, const std::string& text, const models::tokenizer& words) {
    const auto ids = words.encode(text);
    if (ids.empty()) return false;
    const auto token = words.added(ids.back()).text;
    const auto stops = models::find_stop_tokens(model);
    return (!token.empty() && text.ends_with(token)) ||
           std::find(stops.begin(), stops.end(), ids.back()) != stops.end();
}

}  // namespace

std::optional<std::string> endless_answers(const std::filesystem::path& model, const data::chat_template& how,
                                           const models::tokenizer& words) {
    const auto text = up_to_end(how);
    if (!text || ends_with_token(model, *text, words)) return std::nullopt;
    const auto answer = text->rfind(said);
    const auto end = answer == std::string::npos ? std::string() : text->substr(answer + said.size());
    if (end.empty())
        return fmt::format(
            "data.chat: what is learned of an answer in {}'s chat template ends without an end-of-turn token, so the "
            "model does not learn to stop; let the template write one behind each answer, such as {{{{ eos_token }}}}, "
            "inside of {{% generation %}} where it has that",
            model.string());
    return fmt::format(
        "data.chat: {}'s chat template ends answers with \"{}\", which is no token of its tokenizer and is spelled, so "
        "the model learns no end-of-turn token; add it to the tokenizer's special tokens, or end answers with "
        "{{{{ eos_token }}}}",
        model.string(), end);
}

namespace {

using data::clause;
using data::held_out_record;

std::string take_text(const data::record& rendered, const text_range& part) {
    return rendered.text.substr(part.begin, part.end - part.begin);
}

const clause* find_clause(const data::record& rendered, std::size_t column) {
    const auto found = std::find_if(rendered.clauses.begin(), rendered.clauses.end(),
                                    [&](const clause& one) { return one.column == column; });
    return found == rendered.clauses.end() ? nullptr : &*found;
}

/// Whether a letter or a digit of any script stands there.
bool has_word(std::string_view text, std::size_t begin, std::size_t end) {
    const auto is_word = [](unsigned char c) { return c >= 0x80 || std::isalnum(c) != 0; };
    return begin < end && std::any_of(text.begin() + begin, text.begin() + end, is_word);
}

/// Of the text that the predicted tokens stand for: not the first, which nothing predicts (of most models it stands for
/// none), and of a conversation the answers alone.
std::int64_t count_bytes(const held_out_record& one, const models::tokenizer& words, bool answers_only) {
    const auto of = [&](std::int32_t token) {
        return static_cast<std::int64_t>(words.count_bytes(models::unmarked(token)));
    };
    if (!one.cut && !answers_only) return std::ssize(one.rendered.text) - of(one.tokens.front());
    std::int64_t bytes = 0;
    for (std::size_t i = 1; i < one.tokens.size(); ++i)
        if (!answers_only || models::is_marked(one.tokens[i])) bytes += of(one.tokens[i]);
    return bytes;
}

/// What a model would lose on these records, each, that knew how often the other held-out records have each value of
/// each column (Krichevsky and Trofimov's estimate: half a record more of every value), and nothing else. Entropies
/// among few records would be less, by nats where a column has many values: one that only this record has would cost
/// nothing.
double marginal_nats(const data::held_out_side& side) {
    std::vector<double> totals;
    for (const auto& counts : side.values) {
        totals.push_back(0);
        for (const auto& [text, count] : counts) totals.back() += static_cast<double>(count);
    }
    double sum = 0;
    for (const auto& one : side.records)
        for (const auto& part : one.rendered.clauses) {
            const auto& counts = side.values.at(part.column);
            const double others = static_cast<double>(counts.at(take_text(one.rendered, part.whole))) - 1;
            const double half_each = 0.5 * static_cast<double>(counts.size());
            sum -= std::log((others + 0.5) / (totals[part.column] - 1 + half_each));
        }
    return sum / static_cast<double>(side.records.size());
}

std::size_t find_index(const std::string& column, const std::vector<std::string>& columns) {
    const auto found = std::find(columns.begin(), columns.end(), column);
    if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
    if (columns.empty())
        refuse(fmt::format("eval.target: \"{}\" is a column, but the data are text; leave it out", column));
    refuse(fmt::format("eval.target: \"{}\" is no column of the table; it has {}", column, fmt::join(columns, ", ")));
}

/// A record and what stands in the value's place: the whole clause where classes are collected, the value where they
/// are declared. Nothing where it can't be asked.
struct asked {
    text_range place;
    std::size_t truth;
};

/// Each record with each class in its place; those that can't be asked are left out.
template <class Ask>
eval::choices make_choices(const data::held_out_side& side, const held_out_rule& how, std::vector<std::string> classes,
                           Ask ask) {
    eval::choices out{*how.target, how.classes.has_value(), std::move(classes), {}, {}, {}};
    for (std::size_t record = 0; record < side.records.size(); ++record) {
        const auto& one = side.records[record];
        const std::optional<asked> found = ask(one);
        if (!found) continue;
        std::vector<models::sequence> alternatives;
        for (const auto& other : out.clauses) {
            auto text = one.rendered.text;
            text.replace(found->place.begin, found->place.end - found->place.begin, other);
            alternatives.push_back(how.words.encode(text));
        }
        const auto fits = [&](const auto& each) { return std::ssize(each) <= how.max_tokens; };
        if (!std::all_of(alternatives.begin(), alternatives.end(), fits)) continue;  // another value would be cut
        out.records.push_back(record);
        out.truth.push_back(found->truth);
        out.alternatives.push_back(std::move(alternatives));
    }
    return out;
}

std::optional<std::size_t> place_in(const std::vector<std::string>& all, const std::string& one) {
    const auto found = std::find(all.begin(), all.end(), one);
    if (found == all.end()) return std::nullopt;
    return static_cast<std::size_t>(found - all.begin());
}

/// Of declared classes. A record of another value, or cut, is not asked: that follows from the record alone.
eval::choices declared_choices(const data::held_out_side& side, const held_out_rule& how) {
    const auto column = find_index(*how.target, side.columns);
    return make_choices(side, how, *how.classes, [&](const held_out_record& one) -> std::optional<asked> {
        const auto* part = find_clause(one.rendered, column);
        if (one.cut || part == nullptr || part->values.size() != 1) return std::nullopt;
        const auto place = part->values.front();
        const auto truth = place_in(*how.classes, take_text(one.rendered, place));
        return truth ? std::optional(asked{place, *truth}) : std::nullopt;
    });
}

eval::choices collected_choices(const data::held_out_side& side, const held_out_rule& how) {
    constexpr std::size_t most = 64;
    const auto column = find_index(*how.target, side.columns);
    std::set<std::string> clauses;
    for (const auto& one : side.records) {
        if (one.cut)
            refuse(fmt::format(
                "eval.target: \"{}\" can't be asked for where records are cut, for a longer value would push "
                "out other words; raise data.max_tokens, or leave eval.target out",
                *how.target));
        if (const auto* part = find_clause(one.rendered, column)) clauses.insert(take_text(one.rendered, part->whole));
    }
    if (clauses.empty())
        refuse(
            fmt::format("eval.target: \"{}\" is left out by data.template; name a column that is told", *how.target));
    if (clauses.size() > most)
        refuse(fmt::format("eval.target: \"{}\" has {} values among the held-out records; give a column of at most {}",
                           *how.target, clauses.size(), most));
    const std::vector<std::string> classes(clauses.begin(), clauses.end());
    return make_choices(side, how, classes, [&](const held_out_record& one) -> std::optional<asked> {
        const auto* part = find_clause(one.rendered, column);
        if (part == nullptr) return std::nullopt;
        return asked{part->whole, *place_in(classes, take_text(one.rendered, part->whole))};
    });
}

std::optional<eval::choices> find_choices(const data::held_out_side& side, const held_out_rule& how) {
    if (!how.target) return std::nullopt;
    if (how.classes) return declared_choices(side, how);
    if (how.refuses) return collected_choices(side, how);
    find_index(*how.target, side.columns);
    try {
        return collected_choices(side, how);
    } catch (const error&) {
        return std::nullopt;
    }
}

}  // namespace

bool has_answer(const std::vector<models::sequence>& sequences) {
    return std::any_of(sequences.begin(), sequences.end(), [](const auto& one) {
        return one.size() > 1 && std::any_of(one.begin() + 1, one.end(), models::is_marked);
    });
}

void mark_values(const data::record& rendered, const models::tokenizer& words, std::vector<std::int32_t>& tokens) {
    if (rendered.clauses.empty() && rendered.answers.empty()) return;
    const auto ends = models::token_ends(words, rendered.text, tokens);
    if (!ends) return;
    const auto mark_within = [&](const text_range& value, bool alone) {
        // Ends rise: the first token that ends behind the value's begin is the first that shares a byte with it.
        auto at = static_cast<std::size_t>(std::upper_bound(ends->begin(), ends->end(), value.begin) - ends->begin());
        for (auto begin = at == 0 ? 0 : (*ends)[at - 1]; at < tokens.size() && begin < value.end; ++at) {
            const auto end = (*ends)[at];
            if (!alone || !(has_word(rendered.text, begin, value.begin) || has_word(rendered.text, value.end, end)))
                tokens[at] = models::marked(tokens[at]);
            begin = end;
        }
    };
    for (const auto& part : rendered.clauses)
        for (const auto& value : part.values) mark_within(value, false);
    for (const auto& answer : rendered.answers) mark_within(answer, true);
}

eval::held_out make_held_out(const data::held_out_side& side, const held_out_rule& how) {
    eval::held_out out;
    out.answers_only = how.answers_only;
    bool values_known = !side.records.empty() && !how.answers_only;
    for (const auto& one : side.records) {
        if (out.sequences.empty() || one.unit != side.records[out.sequences.size() - 1].unit)
            out.first.push_back(out.sequences.size());
        out.sequences.push_back(one.tokens);
        out.bytes += count_bytes(one, how.words, how.answers_only);
        values_known = values_known && !one.cut && std::any_of(one.tokens.begin(), one.tokens.end(), models::is_marked);
    }
    out.first.push_back(out.sequences.size());
    if (how.refuses && how.answers_only && !has_answer(out.sequences))
        refuse("data.chat: no held-out conversation has an answer that is kept; raise data.max_tokens");
    if (values_known) out.marginal_nats = marginal_nats(side);
    out.target = find_choices(side, how);
    return out;
}

}  // namespace rldp::actors
