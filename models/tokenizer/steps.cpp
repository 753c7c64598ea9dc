#include "models/tokenizer/steps.hpp"

#include <algorithm>
#include <optional>

#include "models/tokenizer/gpt2_words.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

/// What the steps of one section may do together. Chains of replacements would otherwise make gigabytes of a few words,
/// and chains of patterns of a small file.
class step_budget {
  public:
    /// A step that makes a text at most `growth` times as long.
    void take(const json_at& section, std::size_t growth = 1) {
        constexpr std::size_t most_steps = 16, most_growth = 64;
        if (++steps_ > most_steps)
            section.refuse_with("is a step too many: " + std::to_string(most_steps) + " are the most");
        if (growth > most_growth / growth_)
            section.refuse_with("could make a text more than " + std::to_string(most_growth) + " times as long");
        growth_ *= growth;
    }

  private:
    std::size_t steps_ = 0, growth_ = 1;
};

/// A `pattern` key: {"String": …} or {"Regex": …}.
struct pattern {
    std::string text;
    std::optional<regex> expression;

    explicit pattern(const json_at& section) {
        const auto at = section.at("pattern");
        if (const auto expressed = at.find("Regex")) {
            expression.emplace(expressed->text(), expressed->where());
        } else {
            text = at.at("String").text();
            if (text.empty()) at.refuse_with("must not be empty");
        }
    }
    /// How many times as long replacing makes a text, at most. A match has a byte or more.
    std::size_t growth(const std::string& with) const {
        const auto shortest = expression ? 1 : text.size();
        return std::max<std::size_t>((with.size() + shortest - 1) / shortest, 1);
    }
    void replace(std::string& in, const std::string& with) const {
        if (expression)
            in = expression->replace(in, with);
        else
            replace_all(in, text, with);
    }
    std::vector<text_range> matches(std::string_view in) const {
        if (expression) return expression->matches(in);
        std::vector<text_range> out;
        for (auto at = in.find(text); at != std::string_view::npos; at = in.find(text, at + text.size()))
            out.push_back({at, at + text.size()});
        return out;
    }
};

/// Applies `cut(piece, out)` to every piece.
template <class Cut>
void split_each(std::vector<std::string>& pieces, const Cut& cut) {
    std::vector<std::string> out;
    for (const auto& piece : pieces) cut(piece, out);
    pieces = std::move(out);
}

/// Matches and what lies between them, each a piece of its own; `matched` and `between` say which of them stay.
void isolate(std::string_view text, const std::vector<text_range>& matches, bool matched, bool between,
             std::vector<std::string>& out) {
    std::size_t at = 0;
    const auto push = [&](std::size_t begin, std::size_t end) {
        if (end > begin) out.emplace_back(text.substr(begin, end - begin));
    };
    for (const auto [begin, end] : matches) {
        if (between) push(at, begin);
        if (matched) push(begin, end);
        at = end;
    }
    if (between) push(at, text.size());
}

/// Every match ends the piece before it; a match right after another one is a piece of its own.
void merge_with_previous(std::string_view text, const std::vector<text_range>& matches, std::vector<std::string>& out) {
    std::size_t at = 0;
    for (const auto [begin, end] : matches) {
        out.emplace_back(text.substr(at, end - at));
        at = end;
    }
    if (at < text.size()) out.emplace_back(text.substr(at));
}

splitter read_split(const json_at& section) {
    const auto behavior = section.at("behavior");
    const bool invert = section.flag("invert", false);
    if (behavior.text() == "MergedWithPrevious") {
        if (invert) section.at("invert").refuse_with("is not supported with MergedWithPrevious");
        return [p = pattern(section)](std::vector<std::string>& pieces, bool) {
            split_each(pieces, [&](const std::string& piece, std::vector<std::string>& out) {
                merge_with_previous(piece, p.matches(piece), out);
            });
        };
    }
    const bool isolated = behavior.text() == "Isolated";
    if (!isolated && behavior.text() != "Removed")
        behavior.refuse_with("is not supported (Isolated, Removed and MergedWithPrevious are)");
    const bool matched = isolated || invert;
    const bool between = isolated || !invert;
    return [p = pattern(section), matched, between](std::vector<std::string>& pieces, bool) {
        split_each(pieces, [&](const std::string& piece, std::vector<std::string>& out) {
            isolate(piece, p.matches(piece), matched, between, out);
        });
    };
}

normalizer read_replace(const json_at& section, step_budget& budget) {
    pattern from(section);
    auto to = section.at("content").text();
    budget.take(section, from.growth(to));
    return [from = std::move(from), to = std::move(to)](std::string& text) { from.replace(text, to); };
}

splitter prefix_space() {
    return [](std::vector<std::string>& pieces, bool) {
        for (auto& piece : pieces)
            if (!piece.starts_with(' ')) piece.insert(0, 1, ' ');
    };
}

void cut_words(const std::string& text, std::vector<std::string>& out) {
    static const regex words(gpt2_pattern, "GPT-2's pattern");
    if (!is_ascii(text)) return isolate(text, words.matches(text), true, true, out);
    for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
        end = gpt2_word_end(text, begin);
        out.push_back(text.substr(begin, end - begin));
    }
}

splitter gpt2_words() {
    return [](std::vector<std::string>& pieces, bool) { split_each(pieces, cut_words); };
}

enum class prepend_when { always, first, never };

/// The scheme by its present name, or by the older key add_prefix_space.
prepend_when read_prepend_scheme(const json_at& section) {
    const auto scheme = section.find("prepend_scheme");
    if (!scheme) return section.flag("add_prefix_space", true) ? prepend_when::always : prepend_when::never;
    const auto name = scheme->text();
    if (name == "always") return prepend_when::always;
    if (name == "first") return prepend_when::first;
    if (name != "never") scheme->refuse_with("must be always, first or never");
    return prepend_when::never;
}

std::string read_replacement(const json_at& section) {
    const auto found = section.find("replacement");
    const auto text = found ? found->text() : std::string(word_mark);
    if (text.empty() || character_length(text, 0) != text.size()) found->refuse_with("must be one character");
    return text;
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
    const auto mark = read_replacement(section);
    budget.take(section, 2 * mark.size());  // for a space, and before each piece
    return [mark, when = read_prepend_scheme(section), cut = section.flag("split", true)](
               std::vector<std::string>& pieces, bool at_start) {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            replace_all(pieces[i], " ", mark);
            const bool wanted = when == prepend_when::always || (when == prepend_when::first && at_start && i == 0);
            if (wanted && !pieces[i].starts_with(mark)) pieces[i].insert(0, mark);
        }
        if (cut) split_each(pieces, [&](const std::string& piece, auto& out) { cut_before(mark, piece, out); });
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

/// The byte of a token "<0x41>".
std::optional<char> fallback_byte(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    const auto digits = token.substr(3, 2);
    if (digits.find_first_not_of("0123456789ABCDEFabcdef") != std::string::npos) return std::nullopt;
    return static_cast<char>(std::stoi(digits, nullptr, 16));
}

/// Runs of byte tokens become their text, or one U+FFFD per byte where they are no UTF-8.
void decode_byte_fallback(std::vector<std::string>& tokens) {
    std::vector<std::string> out;
    std::string run;
    const auto flush = [&] {
        if (is_utf8(run) && !run.empty()) out.push_back(run);
        if (!is_utf8(run)) out.insert(out.end(), run.size(), "\xEF\xBF\xBD");
        run.clear();
    };
    for (auto& token : tokens) {
        if (const auto byte = fallback_byte(token)) {
            run += *byte;
        } else {
            flush();
            out.push_back(std::move(token));
        }
    }
    flush();
    tokens = std::move(out);
}

void fuse(std::vector<std::string>& tokens) {
    std::string whole;
    for (const auto& token : tokens) whole += token;
    tokens.assign(1, whole);
}

decoder read_strip(const json_at& section) {
    const auto content = section.at("content").text();
    if (content.empty()) section.refuse_with("content must be one character");
    return
        [content, start = section.at("start").id(), stop = section.at("stop").id()](std::vector<std::string>& tokens) {
            for (auto& token : tokens) {
                for (int i = 0; i < start && token.starts_with(content); ++i) token.erase(0, content.size());
                for (int i = 0; i < stop && token.ends_with(content); ++i) token.erase(token.size() - content.size());
            }
        };
}

decoder read_metaspace_decoder(const json_at& section) {
    return [mark = read_replacement(section), when = read_prepend_scheme(section)](std::vector<std::string>& tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i)
            replace_all(tokens[i], mark, i == 0 && when != prepend_when::never ? "" : " ");
    };
}

void read_normalizers(const json_at& section, step_budget& budget, std::vector<normalizer>& out) {
    const auto kind = section.at("type").text();
    if (kind == "Sequence") {
        for (const auto& part : section.at("normalizers").items()) read_normalizers(part, budget, out);
    } else if (kind == "Prepend") {
        const auto with = section.at("prepend").text();
        budget.take(section, 1 + with.size());
        out.emplace_back([with](std::string& text) {
            if (!text.empty()) text.insert(0, with);
        });
    } else if (kind == "Replace") {
        out.push_back(read_replace(section, budget));
    } else if (kind == "NFC") {
        budget.take(section, 3);  // Unicode Standard Annex 15, table 10
        out.emplace_back([](std::string& text) {
            if (!is_ascii(text)) compose(text);
        });
    } else {
        section.at("type").refuse_with(kind + " is not supported (Sequence, Prepend, Replace and NFC are)");
    }
}

void read_splitters(const json_at& section, step_budget& budget, pre_tokenizer& out) {
    const auto kind = section.at("type").text();
    if (out.byte_level) section.refuse_with("nothing may follow ByteLevel");
    if (kind == "Sequence") {
        for (const auto& part : section.at("pretokenizers").items()) read_splitters(part, budget, out);
    } else if (kind == "Split") {
        budget.take(section);
        out.steps.push_back(read_split(section));
    } else if (kind == "Metaspace") {
        out.steps.push_back(read_metaspace(section, budget));
    } else if (kind == "ByteLevel") {
        read_byte_level(section, budget, out);
    } else {
        section.at("type").refuse_with(kind + " is not supported (Sequence, Split, Metaspace and ByteLevel are)");
    }
}

void read_decoders(const json_at& section, step_budget& budget, std::vector<decoder>& out) {
    const auto kind = section.at("type").text();
    if (kind == "Sequence") {
        for (const auto& part : section.at("decoders").items()) read_decoders(part, budget, out);
        return;
    }
    if (kind == "Replace") {
        out.emplace_back([how = read_replace(section, budget)](std::vector<std::string>& tokens) {
            for (auto& token : tokens) how(token);
        });
        return;
    }
    budget.take(section);  // the others lengthen nothing, or only once
    if (kind == "Strip") {
        out.push_back(read_strip(section));
    } else if (kind == "Metaspace") {
        out.push_back(read_metaspace_decoder(section));
    } else if (kind == "ByteFallback") {
        out.emplace_back(decode_byte_fallback);
    } else if (kind == "Fuse") {
        out.emplace_back(fuse);
    } else if (kind == "ByteLevel") {
        out.push_back(byte_level_decoder());
    } else {
        section.at("type").refuse_with(
            kind + " is not supported (Sequence, Replace, Strip, Metaspace, ByteFallback, Fuse and ByteLevel are)");
    }
}

}  // namespace

void read_normalizer(const json_at& section, std::vector<normalizer>& out) {
    step_budget budget;
    read_normalizers(section, budget, out);
}

void read_pre_tokenizer(const json_at& section, pre_tokenizer& out) {
    step_budget budget;
    read_splitters(section, budget, out);
}

void read_decoder(const json_at& section, std::vector<decoder>& out) {
    step_budget budget;
    read_decoders(section, budget, out);
}

pre_tokenizer gpt2_pre_tokenizer() {
    return {{gpt2_words()}, true, true};
}

decoder byte_level_decoder() {
    return [](std::vector<std::string>& tokens) {
        std::string bytes;
        for (const auto& token : tokens) bytes += spelled_bytes(token).value_or(token);
        tokens.assign(1, to_utf8(bytes));
    };
}

std::vector<decoder> sentencepiece_decoders() {
    const auto unmark = [](std::vector<std::string>& tokens) {
        for (auto& token : tokens) replace_all(token, word_mark, " ");
    };
    return {unmark, decode_byte_fallback, fuse};
}

}  // namespace rldp::models
