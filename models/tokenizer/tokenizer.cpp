#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "models/gguf/gguf_file.hpp"
#include "models/tokenizer/pipeline.hpp"
#include "models/tokenizer/text.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::models {

std::unique_ptr<const tokenizer> tokenizer::load(const std::filesystem::path& directory) {
    if (is_gguf(directory)) return std::make_unique<pipeline_tokenizer>(read_gguf_tokenizer(directory));
    const auto has = [&](const char* name) { return std::filesystem::exists(directory / name); };
    const auto read = [&]() -> pipeline_parts {
        const auto beside = read_settings(directory);
        if (has("tokenizer.json")) return read_tokenizer_json(directory / "tokenizer.json", beside);
        if (has("vocab.json") && has("merges.txt")) return read_vocab_and_merges(directory, beside);
        if (has("tokenizer.model")) return read_sentencepiece(directory, beside);
        refuse(directory.string() +
               ": no tokenizer there; it needs tokenizer.json, vocab.json with merges.txt, or tokenizer.model");
    };
    return std::make_unique<pipeline_tokenizer>(read());
}

std::unique_ptr<const tokenizer> tokenizer::load_json(const std::filesystem::path& file) {
    return std::make_unique<pipeline_tokenizer>(read_tokenizer_json(file, {}));
}

void added_tokens::add(std::string content, std::int32_t id, stripped_sides strips) {
    if (content.empty()) return;
    auto& [lengths, tokens] = by_first_byte_[static_cast<std::uint8_t>(content.front())];
    const auto size = content.size();
    const auto shorter = std::lower_bound(lengths.begin(), lengths.end(), size, std::greater<>());
    if (shorter == lengths.end() || *shorter != size) lengths.insert(shorter, size);
    tokens.insert_or_assign(std::move(content), token{id, strips, size});
}

void added_tokens::remove(const std::string& content) {
    if (!content.empty()) by_first_byte_[static_cast<std::uint8_t>(content.front())].tokens.erase(content);
}

const added_tokens::token* added_tokens::match(std::string_view text) const {
    const auto& [lengths, tokens] = by_first_byte_[static_cast<std::uint8_t>(text.front())];
    for (const auto length : lengths) {
        if (length > text.size()) continue;
        if (const auto found = tokens.find(text.substr(0, length)); found != tokens.end()) return &found->second;
    }
    return nullptr;
}

std::vector<std::int32_t> pipeline_tokenizer::encode(std::string_view text) const {
    std::vector<std::int32_t> ids = parts_.prefix;
    const auto push = [&](std::int32_t id) { ids.push_back(id); };
    const auto encode_normalized = [&](std::string_view part, bool at_start) {
        std::string changed(part);
        for (const auto& step : parts_.normalizers) step(changed, at_start);
        parts_.normalized.split(
            changed, [&](std::string_view rest, bool first) { encode_words(rest, at_start && first, ids); }, push);
    };
    parts_.raw.split(to_utf8(text), encode_normalized, push);
    ids.insert(ids.end(), parts_.suffix.begin(), parts_.suffix.end());
    return ids;
}

void pipeline_tokenizer::encode_words(std::string_view text, bool at_start, std::vector<std::int32_t>& out) const {
    if (parts_.words.gpt2_alone && is_ascii(text)) {  // the commonest case, without a copy of every word
        for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
            end = gpt2_word_end(text, begin);
            parts_.model->encode(text.substr(begin, end - begin), out);
        }
        return;
    }
    std::vector<std::string> pieces = {std::string(text)};
    for (const auto& step : parts_.words.steps) step(pieces, at_start);
    for (const auto& piece : pieces) parts_.model->encode(piece, out);
}

std::string pipeline_tokenizer::decode(const std::vector<std::int32_t>& ids) const {
    std::vector<std::string> tokens;
    for (const auto id : ids) {
        if (id < 0) refuse(fmt::format("token id {}: ids begin at 0", id));
        if (id >= size()) continue;  // of a model's vocabulary, which may be padded beyond its tokenizer's
        const auto at = static_cast<std::size_t>(id);
        if (!parts_.special[at]) tokens.push_back(parts_.pieces[at]);
    }
    for (const auto& step : parts_.decoders) step(tokens);
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i > 0 && parts_.decoders.empty()) text += ' ';
        text += tokens[i];
    }
    return text;
}

std::size_t pipeline_tokenizer::count_bytes(std::int32_t id) const {
    const auto at = static_cast<std::size_t>(id);
    if (parts_.special[at]) return 0;
    const auto& piece = parts_.pieces[at];
    if (parts_.words.byte_level) {  // a character for each byte
        std::size_t characters = 0;
        for (std::size_t i = 0; i < piece.size(); i += character_length(piece, i)) ++characters;
        return characters;
    }
    if (piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>')) return 1;  // byte fallback
    std::string shown = piece;
    replace_all(shown, word_mark, " ");
    return shown.size();
}

std::string pipeline_tokenizer::spell(std::int32_t id) const {
    const auto at = static_cast<std::size_t>(id);
    if (parts_.special[at]) return {};
    const auto& piece = parts_.pieces[at];
    if (parts_.added.contains(id)) return piece;
    if (parts_.words.byte_level) return spelled_bytes(piece).value_or("");
    if (piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>'))
        return {static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16))};
    std::string shown = piece;
    replace_all(shown, word_mark, " ");
    return shown;
}

added_token pipeline_tokenizer::added(std::int32_t id) const {
    const auto found = parts_.added.find(id);
    if (found == parts_.added.end()) return {};
    return {parts_.pieces[static_cast<std::size_t>(id)], found->second};
}

namespace {

class once_begun_tokenizer final : public tokenizer {
  public:
    explicit once_begun_tokenizer(std::unique_ptr<const tokenizer> words) : words_(std::move(words)) {}
    std::vector<std::int32_t> encode(std::string_view text) const override {
        auto ids = words_->encode(text);
        if (ids.size() > 1 && ids[0] == ids[1] && !added(ids[0]).text.empty()) ids.erase(ids.begin());
        return ids;
    }
    std::string decode(const std::vector<std::int32_t>& ids) const override { return words_->decode(ids); }
    std::int64_t size() const override { return words_->size(); }
    std::size_t count_bytes(std::int32_t id) const override { return words_->count_bytes(id); }
    std::string spell(std::int32_t id) const override { return words_->spell(id); }
    added_token added(std::int32_t id) const override { return words_->added(id); }
    std::vector<std::string> unmatched() const override { return words_->unmatched(); }
    std::vector<std::uint8_t> lost_bytes() const override { return words_->lost_bytes(); }

  private:
    std::unique_ptr<const tokenizer> words_;
};

/// Walks through a text and its tokens side by side.
class end_finder {
  public:
    end_finder(const tokenizer& words, std::string_view text, std::span<const std::int32_t> tokens)
        : words_(words), text_(text), tokens_(tokens) {}

    std::optional<std::vector<std::size_t>> ends() {
        while (ends_.size() < tokens_.size()) {
            auto next = ends_.size();
            while (next < tokens_.size() && words_.added(tokens_[next]).text.empty()) ++next;
            const auto behind = next < tokens_.size() ? words_.added(tokens_[next]) : added_token{};
            if (next > ends_.size() && !take_run(next - ends_.size(), behind)) return std::nullopt;
            if (next < tokens_.size()) take_added(behind);
        }
        return at_ == text_.size() ? std::optional(std::move(ends_)) : std::nullopt;
    }

  private:
    /// So many tokens, up to where `next` stands in the text; one that the tokenizer adds does not stand in it.
    bool take_run(std::size_t count, const added_token& next) {
        const auto stop = next.text.empty() ? std::string_view::npos : text_.find(next.text, at_);
        auto part = text_.substr(at_, stop == std::string_view::npos ? stop : stop - at_);
        if (stop != std::string_view::npos && next.strips.left) part.remove_suffix(spaces_at_end(part));
        std::size_t bytes = 0;
        for (const auto token : tokens_.subspan(ends_.size(), count)) bytes += words_.count_bytes(token);
        const auto in_front = bytes - part.size();
        if (in_front > 1) return false;
        take(count, in_front);
        return true;
    }

    void take(std::size_t count, std::size_t in_front) {
        std::size_t end = 0;
        for (const auto token : tokens_.subspan(ends_.size(), count)) {
            end += words_.count_bytes(token);
            ends_.push_back(at_ + end - std::min(end, in_front));
        }
        at_ += end - in_front;
    }

    void take_added(const added_token& one) {
        const auto spaces = one.strips.left ? spaces_at_start(text_.substr(at_)) : 0;
        if (const auto rest = text_.substr(at_ + spaces); rest.starts_with(one.text)) {
            at_ += spaces + one.text.size();
            if (one.strips.right) at_ += spaces_at_start(text_.substr(at_));
        }
        ends_.push_back(at_);
    }

    const tokenizer& words_;
    std::string_view text_;
    std::span<const std::int32_t> tokens_;
    std::vector<std::size_t> ends_;
    std::size_t at_ = 0;  // of the text that is accounted for
};

}  // namespace

std::unique_ptr<const tokenizer> once_begun(std::unique_ptr<const tokenizer> words) {
    return std::make_unique<once_begun_tokenizer>(std::move(words));
}

std::optional<std::vector<std::size_t>> token_ends(const tokenizer& words, std::string_view text,
                                                   const std::vector<std::int32_t>& tokens) {
    return end_finder(words, text, tokens).ends();
}

std::string decode_after(const tokenizer& words, std::vector<std::int32_t> before,
                         const std::vector<std::int32_t>& more) {
    const auto begun = words.decode(before);
    before.insert(before.end(), more.begin(), more.end());
    const auto all = words.decode(before);
    return all.starts_with(begun) ? all.substr(begun.size()) : words.decode(more);
}

growing_text::growing_text(const tokenizer& words, std::vector<std::int32_t> prompt, std::vector<std::string> stop)
    : words_(words), prompt_(std::move(prompt)), stop_(std::move(stop)) {
    for (const auto& one : stop_) held_back_ = std::max(held_back_, one.size() - 1);
}

bool growing_text::take(const std::vector<std::int32_t>& made) {
    text_ = decode_after(words_, prompt_, made);
    bool ended = false;
    for (const auto& one : stop_)
        if (const auto at = text_.find(one); at != std::string::npos) {
            text_.resize(at);
            ended = true;
        }
    return ended;
}

std::string growing_text::news(bool all) {
    auto end = text_.size();
    if (!all) {
        // Bytes that are no letter yet are decoded as U+FFFD.
        constexpr std::string_view half = "\xEF\xBF\xBD";
        while (std::string_view(text_).substr(0, end).ends_with(half)) end -= half.size();
        end -= std::min(end, held_back_);
        while (end > 0 && end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) --end;
    }
    if (end <= shown_) return {};
    auto out = text_.substr(shown_, end - shown_);
    shown_ = end;
    return out;
}

}  // namespace rldp::models
