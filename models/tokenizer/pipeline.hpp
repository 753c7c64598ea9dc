#pragma once
// Added tokens -> normalizer -> pre-tokenizer -> BPE -> template, and back: the class behind tokenizer.json. Internal.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/beside.hpp"
#include "models/tokenizer/bpe.hpp"
#include "models/tokenizer/steps.hpp"
#include "models/tokenizer/text.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::models {

/// Tokens that are found in the text itself, before any other stage: leftmost first, the longest of those.
class added_tokens {
  public:
    /// In the place of one of the same content.
    void add(std::string content, std::int32_t id, stripped_sides strips = {});
    void remove(const std::string& content);
    /// Calls on_text(part, begins_text) and on_token(id) for the parts of `text` in order; no part is empty.
    template <class OnText, class OnToken>
    void split(std::string_view text, const OnText& on_text, const OnToken& on_token) const {
        std::size_t begin = 0;
        for (std::size_t at = 0; at < text.size();) {
            if (by_first_byte_[static_cast<std::uint8_t>(text[at])].lengths.empty()) {
                ++at;
                continue;
            }
            const auto* hit = match(text.substr(at));
            if (hit == nullptr) {
                ++at;
                continue;
            }
            // What a token before has stripped is gone.
            std::size_t first = at;
            if (hit->strips.left && at > begin) first -= spaces_at_end(text.substr(begin, at - begin));
            if (first > begin) on_text(text.substr(begin, first - begin), begin == 0);
            on_token(hit->id);
            begin = at += hit->size;
            if (hit->strips.right) begin += spaces_at_start(text.substr(at));
        }
        if (begin < text.size()) on_text(text.substr(begin), begin == 0);
    }

  private:
    struct token {
        std::int32_t id;
        stripped_sides strips;
        std::size_t size;  ///< bytes
    };
    /// Tokens that begin with one byte. A text is asked for each of their lengths, the longest first.
    struct bucket {
        std::vector<std::size_t> lengths;
        text_map<token> tokens;
    };
    const token* match(std::string_view text) const;
    std::array<bucket, 256> by_first_byte_;
};

/// What a tokenizer is made of.
struct pipeline_parts {
    std::vector<std::string> pieces;               ///< by id, as the file spells them; empty where an id is not used
    std::vector<bool> special;                     ///< by id
    std::map<std::int32_t, stripped_sides> added;  ///< special or not
    std::vector<std::string> unmatched;            ///< added tokens beyond the model: in a text they are text
    added_tokens raw;                              ///< matched before the normalizer
    added_tokens normalized;                       ///< matched after it
    std::vector<normalizer> normalizers;
    pre_tokenizer words;
    std::shared_ptr<const bpe> model;
    std::vector<std::int32_t> prefix, suffix;  ///< added to every sequence
    std::vector<decoder> decoders;             ///< none: tokens are joined by spaces
};

class pipeline_tokenizer : public tokenizer {
  public:
    explicit pipeline_tokenizer(pipeline_parts parts) : parts_(std::move(parts)) {}
    std::vector<std::int32_t> encode(std::string_view text) const override;
    std::string decode(const std::vector<std::int32_t>& ids) const override;
    std::int64_t size() const override { return static_cast<std::int64_t>(parts_.pieces.size()); }
    std::size_t count_bytes(std::int32_t id) const override;
    std::string spell(std::int32_t id) const override;
    added_token added(std::int32_t id) const override;
    std::vector<std::string> unmatched() const override { return parts_.unmatched; }
    std::vector<std::uint8_t> lost_bytes() const override { return parts_.model->lost_bytes(); }

  private:
    void encode_words(std::string_view text, bool at_start, std::vector<std::int32_t>& out) const;
    pipeline_parts parts_;
};

/// Normalizer, pre-tokenizer and decoder of a tokenizer.json.
void read_stages(const json_at& root, pipeline_parts& parts);
pipeline_parts read_tokenizer_json(const std::filesystem::path& file, const stated_settings& beside);
/// Of vocab.json with merges.txt: what tokenizer_class means.
pipeline_parts read_vocab_and_merges(const std::filesystem::path& directory, const stated_settings& beside);
/// Names the class, and the command that makes a tokenizer.json.
[[noreturn]] void refuse_unknown_class(const std::filesystem::path& directory, const stated_settings& beside,
                                       const std::string& files);
/// Of tokenizer.model: what LlamaTokenizer means, or sentencepiece itself.
pipeline_parts read_sentencepiece(const std::filesystem::path& directory, const stated_settings& beside);
/// Of a GGUF file's metadata.
pipeline_parts read_gguf_tokenizer(const std::filesystem::path& file);

}  // namespace rldp::models
