#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "models/tokenizer/steps.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

void step_budget::take(const json_at& section, std::size_t growth) {
    constexpr std::size_t most_steps = 16, most_growth = 64;
    if (++steps_ > most_steps)
        section.refuse_with("is a step too many: " + std::to_string(most_steps) + " are the most");
    if (growth > most_growth / growth_)
        section.refuse_with("could make a text more than " + std::to_string(most_growth) + " times as long");
    growth_ *= growth;
}

pattern::pattern(const json_at& section) {
    const auto at = section.at("pattern");
    if (const auto expressed = at.find("Regex")) {
        expression_.emplace(expressed->text(), expressed->where());
    } else {
        text_ = at.at("String").text();
        if (text_.empty()) at.refuse_with("must not be empty");
    }
}

std::size_t pattern::growth(const std::string& with) const {
    const auto shortest = expression_ ? 1 : text_.size();
    return std::max<std::size_t>((with.size() + shortest - 1) / shortest, 1);
}

void pattern::replace(std::string& in, const std::string& with) const {
    if (expression_)
        in = expression_->replace(in, with);
    else
        replace_all(in, text_, with);
}

std::vector<text_range> pattern::matches(std::string_view in) const {
    if (expression_) return expression_->matches(in);
    std::vector<text_range> out;
    for (auto at = in.find(text_); at != std::string_view::npos; at = in.find(text_, at + text_.size()))
        out.push_back({at, at + text_.size()});
    return out;
}

replacing::replacing(const json_at& section, step_budget& budget) : from(section), to(section.at("content").text()) {
    budget.take(section, from.growth(to));
    // Whether a pattern is refused must not depend on a record, so it is asked here.
    for (const std::string_view text : {"", "a", " 1."})
        for (const auto& [begin, end] : from.matches(text))
            if (begin == end) section.at("pattern").refuse_with("matches an empty text, which can't be replaced");
}

prepend_when read_prepend_scheme(const json_at& section) {
    const auto scheme = section.find("prepend_scheme");
    if (!scheme) return section.flag("add_prefix_space", true) ? prepend_when::always : prepend_when::never;
    const auto name = scheme->text();
    if (name == "always") return prepend_when::always;
    if (name == "first") return prepend_when::first;
    if (name != "never") scheme->refuse_with("must be always, first or never");
    return prepend_when::never;
}

std::string read_mark(const json_at& section) {
    const auto found = section.find("replacement");
    auto text = found ? found->text() : std::string(word_mark);
    if (text.empty() || character_length(text, 0) != text.size()) found->refuse_with("must be one character");
    return text;
}

namespace {

/// Steps without settings. How much longer a text becomes is Unicode's (Standard Annex 15, table 10, for the forms).
struct named_step {
    std::string_view name;
    std::size_t growth;
    void (*change)(std::string& text);
};

template <unicode_form Form>
void change_form(std::string& text) {
    if (!is_ascii(text)) normalize(text, Form);
}

constexpr std::array<named_step, 6> named_steps{{
    {"NFC", 3, change_form<unicode_form::nfc>},
    {"NFD", 3, change_form<unicode_form::nfd>},
    {"NFKC", 11, change_form<unicode_form::nfkc>},
    {"NFKD", 11, change_form<unicode_form::nfkd>},
    {"Lowercase", 2, make_lower},
    {"StripAccents", 1, drop_marks},
}};

void read_normalizers(const json_at& section, step_budget& budget, std::vector<normalizer>& out) {
    const auto kind = section.at("type").text();
    const auto* named =
        std::find_if(named_steps.begin(), named_steps.end(), [&](const named_step& one) { return one.name == kind; });
    if (named != named_steps.end()) {
        budget.take(section, named->growth);
        out.emplace_back([change = named->change](std::string& text, bool& at_start) {
            if (at_start && !text.empty()) {  // StripAccents leaves nothing of a mark
                auto first = text.substr(0, character_length(text, 0));
                change(first);
                at_start = !first.empty();
            }
            change(text);
        });
    } else if (kind == "Sequence") {
        for (const auto& part : section.at("normalizers").items()) read_normalizers(part, budget, out);
    } else if (kind == "Prepend") {
        const auto with = section.at("prepend").text();
        budget.take(section, 1 + with.size());
        out.emplace_back([with](std::string& text, bool) {
            if (!text.empty()) text.insert(0, with);
        });
    } else if (kind == "Replace") {
        out.emplace_back([how = replacing(section, budget)](std::string& text, bool& at_start) {
            if (at_start && how.to.empty()) {
                const auto lost = how.from.matches(text);
                at_start = lost.empty() || lost.front().begin > 0 || lost.front().end == 0;
            }
            how(text);
        });
    } else if (kind == "Strip") {
        budget.take(section);
        const bool left = section.flag("strip_left", true), right = section.flag("strip_right", true);
        out.emplace_back([left, right](std::string& text, bool& at_start) {
            if (right) text.resize(text.size() - spaces_at_end(text));
            const auto spaces = left ? spaces_at_start(text) : 0;
            if (spaces > 0) at_start = false;
            text.erase(0, spaces);
        });
    } else {
        section.at("type").refuse_with(
            kind +
            " is not supported (Sequence, Prepend, Replace, Strip, StripAccents, Lowercase, NFC, NFD, NFKC and "
            "NFKD are)");
    }
}

}  // namespace

void read_normalizer(const json_at& section, std::vector<normalizer>& out) {
    step_budget budget;
    read_normalizers(section, budget, out);
}

namespace {

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
    return [mark = read_mark(section), when = read_prepend_scheme(section)](std::vector<std::string>& tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i)
            replace_all(tokens[i], mark, i == 0 && when != prepend_when::never ? "" : " ");
    };
}

void read_decoders(const json_at& section, step_budget& budget, std::vector<decoder>& out) {
    const auto kind = section.at("type").text();
    if (kind == "Sequence") {
        for (const auto& part : section.at("decoders").items()) read_decoders(part, budget, out);
        return;
    }
    if (kind == "Replace") {
        out.emplace_back([how = replacing(section, budget)](std::vector<std::string>& tokens) {
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

void read_decoder(const json_at& section, std::vector<decoder>& out) {
    step_budget budget;
    read_decoders(section, budget, out);
}

decoder byte_level_decoder() {
    return [](std::vector<std::string>& tokens) {
        std::string bytes;
        for (const auto& token : tokens) bytes += spelled_bytes(token).value_or(token);
        tokens.assign(1, to_utf8(bytes));
    };
}

}  // namespace rldp::models
