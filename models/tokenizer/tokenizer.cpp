#include "models/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "config/base/error.hpp"
#include "models/tokenizer/gpt2_words.hpp"
#include "models/tokenizer/pipeline.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

std::unique_ptr<const tokenizer> tokenizer::load(const std::filesystem::path& directory) {
    const auto has = [&](const char* name) { return std::filesystem::exists(directory / name); };
    if (has("tokenizer.json")) return load_json(directory / "tokenizer.json");
    if (has("vocab.json") && has("merges.txt")) {
        auto parts = read_vocab_and_merges(directory / "vocab.json", directory / "merges.txt");
        return std::make_unique<pipeline_tokenizer>(std::move(parts));
    }
    if (has("tokenizer.model")) return load_sentencepiece(directory);
    refuse(directory.string() +
           ": no tokenizer there; it needs tokenizer.json, vocab.json with merges.txt, or tokenizer.model");
}

std::unique_ptr<const tokenizer> tokenizer::load_json(const std::filesystem::path& file) {
    return std::make_unique<pipeline_tokenizer>(read_tokenizer_json(file));
}

void added_tokens::add(std::string content, std::int32_t id, stripped_sides strips) {
    if (content.empty()) return;
    auto& bucket = by_first_byte_[static_cast<std::uint8_t>(content.front())];
    const auto shorter = std::find_if(bucket.begin(), bucket.end(),
                                      [&](const token& other) { return other.content.size() < content.size(); });
    bucket.insert(shorter, {std::move(content), id, strips});
}

const added_tokens::token* added_tokens::match(std::string_view text) const {
    for (const auto& candidate : by_first_byte_[static_cast<std::uint8_t>(text.front())])
        if (text.starts_with(candidate.content)) return &candidate;
    return nullptr;
}

std::vector<std::int32_t> pipeline_tokenizer::encode(std::string_view text) const {
    std::vector<std::int32_t> ids = parts_.prefix;
    const auto push = [&](std::int32_t id) { ids.push_back(id); };
    const auto encode_normalized = [&](std::string_view part, bool at_start) {
        std::string changed(part);
        for (const auto& step : parts_.normalizers) step(changed);
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
        if (id < 0 || id >= size())
            refuse(fmt::format("token id {}: the vocabulary has ids from 0 to {}", id, size() - 1));
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

std::size_t pipeline_tokenizer::bytes_of(std::int32_t id) const {
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

std::string_view pipeline_tokenizer::special(std::int32_t id) const {
    const auto at = static_cast<std::size_t>(id);
    return parts_.special[at] ? std::string_view(parts_.pieces[at]) : std::string_view();
}

namespace {

class once_begun_tokenizer final : public tokenizer {
  public:
    explicit once_begun_tokenizer(std::unique_ptr<const tokenizer> words) : words_(std::move(words)) {}
    std::vector<std::int32_t> encode(std::string_view text) const override {
        auto ids = words_->encode(text);
        if (ids.size() > 1 && ids[0] == ids[1] && !special(ids[0]).empty()) ids.erase(ids.begin());
        return ids;
    }
    std::string decode(const std::vector<std::int32_t>& ids) const override { return words_->decode(ids); }
    std::int64_t size() const override { return words_->size(); }
    std::size_t bytes_of(std::int32_t id) const override { return words_->bytes_of(id); }
    std::string_view special(std::int32_t id) const override { return words_->special(id); }

  private:
    std::unique_ptr<const tokenizer> words_;
};

/// Ends of the tokens from `first` up to the next special one, which stand for `text`, or for it and a space in front;
/// false where they don't.
bool ends_of_run(const tokenizer& words, std::span<const std::int32_t> run, std::string_view text, std::size_t begin,
                 std::vector<std::size_t>& ends) {
    const auto old = ends.size();
    std::size_t end = 0;
    for (const auto token : run) ends.push_back(end += words.bytes_of(token));
    const auto added = end - text.size();
    if (added > 1) return false;
    for (auto i = old; i < ends.size(); ++i) ends[i] = begin + ends[i] - std::min(ends[i], added);
    return true;
}

}  // namespace

std::unique_ptr<const tokenizer> once_begun(std::unique_ptr<const tokenizer> words) {
    return std::make_unique<once_begun_tokenizer>(std::move(words));
}

std::optional<std::vector<std::size_t>> token_ends(const tokenizer& words, std::string_view text,
                                                   const std::vector<std::int32_t>& tokens) {
    std::vector<std::size_t> ends;
    ends.reserve(tokens.size());
    std::size_t at = 0;  // of the text that is accounted for
    const std::span all(tokens);
    for (std::size_t i = 0; i < tokens.size();) {
        auto next = i;
        while (next < tokens.size() && words.special(tokens[next]).empty()) ++next;
        if (next > i) {
            // As far as the special token that follows; one that the tokenizer adds does not stand in the text.
            const auto stop =
                next < tokens.size() ? text.find(words.special(tokens[next]), at) : std::string_view::npos;
            const auto part = text.substr(at, stop == std::string_view::npos ? stop : stop - at);
            if (!ends_of_run(words, all.subspan(i, next - i), part, at, ends)) return std::nullopt;
            at += part.size();
        }
        if (next < tokens.size()) {
            const auto written = words.special(tokens[next]);
            if (text.substr(at).starts_with(written)) at += written.size();
            ends.push_back(at);
        }
        i = next + 1;
    }
    if (at != text.size()) return std::nullopt;
    return ends;
}

std::string decode_after(const tokenizer& words, std::vector<std::int32_t> before,
                         const std::vector<std::int32_t>& more) {
    const auto begun = words.decode(before);
    before.insert(before.end(), more.begin(), more.end());
    const auto all = words.decode(before);
    return all.starts_with(begun) ? all.substr(begun.size()) : words.decode(more);
}

}  // namespace rldp::models
