#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "models/tokenizer/steps.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

/// Applies `cut(piece, out)` to every piece; it says whether the piece's beginning was kept.
template <class Cut>
void split_each(std::vector<std::string>& pieces, bool& at_start, const Cut& cut) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const bool kept = cut(pieces[i], out);
        if (i == 0 && !kept) at_start = false;
    }
    pieces = std::move(out);
}

/// What becomes of the matches of a pattern, and of what lies between.
enum class behavior { removed, isolated, with_previous, with_next, contiguous };

behavior read_behavior(const json_at& at) {
    static constexpr std::array<std::pair<std::string_view, behavior>, 5> names{
        {{"Removed", behavior::removed},
         {"Isolated", behavior::isolated},
         {"MergedWithPrevious", behavior::with_previous},
         {"MergedWithNext", behavior::with_next},
         {"Contiguous", behavior::contiguous}}};
    const auto name = at.text();
    for (const auto& [known, what] : names)
        if (known == name) return what;
    at.refuse_with(name +
                   " is not supported (Removed, Isolated, MergedWithPrevious, MergedWithNext and Contiguous are)");
}

struct segment {
    std::size_t begin, end;
    bool matched;
};

/// A match joins the segment before it, unless that is a match too; what comes then begins anew.
void join_with_previous(std::vector<segment>& all) {
    std::vector<segment> out;
    bool after_match = false;
    for (const auto& one : all) {
        if (one.matched && !after_match && !out.empty())
            out.back() = {std::min(out.back().begin, one.begin), std::max(out.back().end, one.end), false};
        else
            out.push_back(one);
        after_match = one.matched;
    }
    all = std::move(out);
}

/// The same from the end.
void join_with_next(std::vector<segment>& all) {
    std::reverse(all.begin(), all.end());
    join_with_previous(all);
    std::reverse(all.begin(), all.end());
}

void join_alike(std::vector<segment>& all) {
    std::vector<segment> out;
    for (const auto& one : all)
        if (!out.empty() && out.back().matched == one.matched)
            out.back().end = one.end;
        else
            out.push_back(one);
    all = std::move(out);
}

/// Whether its first character is in the first part.
bool split_at(std::string_view text, const std::vector<text_range>& matches, behavior how, bool invert,
              std::vector<std::string>& out) {
    std::vector<segment> all;
    std::size_t at = 0;
    for (const auto [begin, end] : matches) {
        if (begin > at) all.push_back({at, begin, invert});
        all.push_back({begin, end, !invert});
        at = end;
    }
    if (at < text.size()) all.push_back({at, text.size(), invert});
    if (how == behavior::with_previous) join_with_previous(all);
    if (how == behavior::with_next) join_with_next(all);
    if (how == behavior::contiguous) join_alike(all);
    bool from_start = false;
    for (const auto& [begin, end, matched] : all) {
        if (end == begin || (matched && how == behavior::removed)) continue;
        from_start |= begin == 0;
        out.emplace_back(text.substr(begin, end - begin));
    }
    return from_start;
}

splitter split_by(pattern what, behavior how, bool invert) {
    return [what = std::move(what), how, invert](std::vector<std::string>& pieces, bool& at_start) {
        split_each(pieces, at_start, [&](const std::string& piece, std::vector<std::string>& out) {
            return split_at(piece, what.matches(piece), how, invert, out);
        });
    };
}

/// Each character of a class is a match of its own.
template <class Class>
splitter split_by_class(const Class& is_member, behavior how) {
    return [is_member, how](std::vector<std::string>& pieces, bool& at_start) {
        split_each(pieces, at_start, [&](const std::string& piece, std::vector<std::string>& out) {
            std::vector<text_range> matches;
            for (std::size_t begin = 0, end; begin < piece.size(); begin = end) {
                end = begin + character_length(piece, begin);
                if (is_member(code_point(piece, begin))) matches.push_back({begin, end});
            }
            return split_at(piece, matches, how, false, out);
        });
    };
}

/// Words are what Rust's expressions take for \w, which is not quite Oniguruma's.
splitter words_and_others() {
    constexpr auto word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D})";
    return [what = regex(fmt::format("[{0}]+|[^{0}\\s]+", word), "Whitespace")](std::vector<std::string>& pieces,
                                                                                bool& at_start) {
        split_each(pieces, at_start, [&](const std::string& piece, std::vector<std::string>& out) {
            return split_at(piece, what.matches(piece), behavior::removed, true, out);
        });
    };
}

splitter read_delimiter(const json_at& section) {
    const auto at = section.at("delimiter");
    const auto text = at.text();
    if (text.empty() || character_length(text, 0) != text.size()) at.refuse_with("must be one character");
    return split_by_class([wanted = code_point(text, 0)](std::int32_t point) { return point == wanted; },
                          behavior::removed);
}

/// Cuts where the script changes, as sentencepiece does: kana are Han, and spaces belong to the word before them.
splitter split_by_script() {
    return [](std::vector<std::string>& pieces, bool& at_start) {
        split_each(pieces, at_start, [](const std::string& piece, std::vector<std::string>& out) {
            std::optional<std::size_t> begin;  // spaces in front of the first word are lost
            std::optional<std::int32_t> last;
            for (std::size_t at = 0; at < piece.size(); at += character_length(piece, at)) {
                const auto script = find_script(code_point(piece, at));
                if (!script) continue;
                if (last != script) {
                    if (begin) out.push_back(piece.substr(*begin, at - *begin));
                    begin = at;
                }
                last = script;
            }
            if (begin) out.push_back(piece.substr(*begin));
            return !piece.empty() && find_script(code_point(piece, 0)).has_value();
        });
    };
}

splitter prefix_space() {
    return [](std::vector<std::string>& pieces, bool) {
        for (auto& piece : pieces)
            if (!piece.starts_with(' ')) piece.insert(0, 1, ' ');
    };
}

bool cut_words(const std::string& text, std::vector<std::string>& out) {
    static const regex words(gpt2_pattern, "GPT-2's pattern");
    if (!is_ascii(text)) return split_at(text, words.matches(text), behavior::isolated, false, out);
    for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
        end = gpt2_word_end(text, begin);
        out.push_back(text.substr(begin, end - begin));
    }
    return true;
}

splitter gpt2_words() {
    return [](std::vector<std::string>& pieces, bool& at_start) { split_each(pieces, at_start, cut_words); };
}

/// Every mark begins a piece.
void cut_before(const std::string& mark, const std::string& text, std::vector<std::string>& out) {
    for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
        end = std::min(text.find(mark, text.compare(begin, mark.size(), mark) == 0 ? begin + mark.size() : begin),
                       text.size());
        out.push_back(text.substr(begin, end - begin));
    }
}

splitter read_metaspace(const json_at& section, step_budget& budget) {
    const auto mark = read_mark(section);
    budget.take(section, 2 * mark.size());  // for a space, and before each piece
    return [mark, when = read_prepend_scheme(section), cut = section.flag("split", true)](
               std::vector<std::string>& pieces, bool& at_start) {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            replace_all(pieces[i], " ", mark);
            const bool wanted = when == prepend_when::always || (when == prepend_when::first && at_start && i == 0);
            if (wanted && !pieces[i].starts_with(mark)) pieces[i].insert(0, mark);
        }
        if (!cut) return;
        split_each(pieces, at_start, [&](const std::string& piece, auto& out) {
            cut_before(mark, piece, out);
            return true;
        });
    };
}

void read_byte_level(const json_at& section, step_budget& budget, pre_tokenizer& out) {
    const bool prefixed = section.flag("add_prefix_space", true);
    budget.take(section, prefixed ? 2 : 1);
    if (prefixed) out.steps.push_back(prefix_space());
    if (section.flag("use_regex", true)) out.steps.push_back(gpt2_words());
    out.gpt2_alone = section.flag("use_regex", true) && out.steps.size() == 1;
    out.byte_level = true;
}

void read_splitters(const json_at& section, step_budget& budget, pre_tokenizer& out) {
    const auto kind = section.at("type").text();
    if (out.byte_level) section.refuse_with("nothing may follow ByteLevel");
    if (kind == "Sequence") {
        for (const auto& part : section.at("pretokenizers").items()) read_splitters(part, budget, out);
        return;
    }
    if (kind == "Metaspace") return out.steps.push_back(read_metaspace(section, budget));
    if (kind == "ByteLevel") return read_byte_level(section, budget, out);
    budget.take(section);
    if (kind == "Split") {
        out.steps.push_back(
            split_by(pattern(section), read_behavior(section.at("behavior")), section.flag("invert", false)));
    } else if (kind == "Digits") {
        out.steps.push_back(split_by_class(
            is_number, section.flag("individual_digits", false) ? behavior::isolated : behavior::contiguous));
    } else if (kind == "Punctuation") {
        const auto how = section.find("behavior");
        out.steps.push_back(split_by_class(is_punctuation, how ? read_behavior(*how) : behavior::isolated));
    } else if (kind == "WhitespaceSplit") {
        out.steps.push_back(split_by_class(is_white_space, behavior::removed));
    } else if (kind == "Whitespace") {
        out.steps.push_back(words_and_others());
    } else if (kind == "CharDelimiterSplit") {
        out.steps.push_back(read_delimiter(section));
    } else if (kind == "UnicodeScripts") {
        out.steps.push_back(split_by_script());
    } else {
        section.at("type").refuse_with(
            kind +
            " is not supported (Sequence, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, "
            "CharDelimiterSplit, UnicodeScripts, Metaspace and ByteLevel are)");
    }
}

}  // namespace

void read_pre_tokenizer(const json_at& section, pre_tokenizer& out) {
    step_budget budget;
    read_splitters(section, budget, out);
}

}  // namespace rldp::models
