#pragma once
// Text to ids and back, exactly as Hugging Face's tokenizers and sentencepiece do it, also while a text is generated.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::models {

/// White space on such a side of an added token belongs to it.
struct stripped_sides {
    bool left = false, right = false;
};

/// Stands for its text wherever encode() meets it.
struct added_token {
    std::string_view text;  ///< empty of a token that is none
    stripped_sides strips = {};
};

/// Immutable and safe to use from several threads.
class tokenizer {
  public:
    /// From a directory: tokenizer.json (byte-level BPE, or sentencepiece-style BPE with byte fallback), else
    /// vocab.json + merges.txt, else tokenizer.model; with what tokenizer_config.json and the like say of its tokens.
    /// Or from a GGUF file: byte-level BPE whose way to cut texts is known by name, or sentencepiece's BPE. Errors:
    /// bad_input naming file and key.
    static std::unique_ptr<const tokenizer> load(const std::filesystem::path& directory);
    /// From one tokenizer.json, whatever its name.
    static std::unique_ptr<const tokenizer> load_json(const std::filesystem::path& file);
    virtual ~tokenizer() = default;

    /// Ids of `text` (UTF-8; what is not valid counts as U+FFFD), with the special tokens that the tokenizer's own
    /// post-processor adds (BOS for Llama).
    virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
    /// Special tokens are left out, and so are ids beyond the vocabulary, which a model's may have. Errors: bad_input
    /// for a negative id.
    virtual std::string decode(const std::vector<std::int32_t>& ids) const = 0;
    virtual std::int64_t size() const = 0;  ///< vocabulary
    /// Bytes of text that a token stands for, where the tokenizer leaves texts as they are; none of a special token.
    virtual std::size_t count_bytes(std::int32_t id) const = 0;
    /// Those bytes. Empty of a special token, and of an id that nothing spells.
    virtual std::string spell(std::int32_t id) const = 0;
    /// Special or not.
    virtual added_token added(std::int32_t id) const = 0;
    /// Added tokens that the model (config.json) has no row for: where a text has them, they are spelled.
    virtual std::vector<std::string> unmatched() const { return {}; }
    /// Bytes that a text may have and no token stands for: encode() leaves them out.
    virtual std::vector<std::uint8_t> lost_bytes() const { return {}; }
};

/// The same, but where a text begins with the special token that encode() puts in front, it is there once: chat
/// templates write it themselves.
std::unique_ptr<const tokenizer> once_begun(std::unique_ptr<const tokenizer> words);

/// Where in `text` each of its tokens ends; the next begins there. Absent where the tokenizer changed the text, but for
/// a space in front of it and behind added tokens, and white space beside these, which some take with them.
std::optional<std::vector<std::size_t>> token_ends(const tokenizer& words, std::string_view text,
                                                   const std::vector<std::int32_t>& tokens);

/// The text of `more` where it follows `before`: alone it can't be decoded, for its first token may begin with a blank.
std::string decode_after(const tokenizer& words, std::vector<std::int32_t> before,
                         const std::vector<std::int32_t>& more);

/// Learns a byte-level BPE vocabulary of `size` tokens (256 bytes, merges, `<|endoftext|>` last) with GPT-2's split
/// and returns it as the text of a tokenizer.json. Deterministic.
std::string train_byte_level_bpe(const std::vector<std::string>& texts, std::int64_t size);

// Growing text. A text while it is generated: what is certain of it, up to a stop string.

class growing_text {
  public:
    /// Keeps a reference to `words`. It ends before the first of `stop`, none of which is empty.
    growing_text(const tokenizer& words, std::vector<std::int32_t> prompt, std::vector<std::string> stop);

    /// All tokens made so far; whether a stop string came.
    bool take(const std::vector<std::int32_t>& made);
    const std::string& text() const { return text_; }
    /// What may be shown now and was not yet: not the beginning of what may become a stop string, nor half a letter,
    /// unless it is `all` that will come.
    std::string news(bool all);

  private:
    const tokenizer& words_;
    std::vector<std::int32_t> prompt_;
    std::vector<std::string> stop_;
    std::string text_;
    std::size_t held_back_ = 0, shown_ = 0;  ///< bytes
};

}  // namespace rldp::models
