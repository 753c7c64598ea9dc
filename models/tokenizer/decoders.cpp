#include <optional>

#include "config/base/utf8.hpp"
#include "models/tokenizer/step_parts.hpp"
#include "models/tokenizer/steps.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

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
