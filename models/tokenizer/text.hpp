#pragma once
// Text for tokenizers: UTF-8, GPT-2's byte alphabet, regular expressions. Internal to the tokenizers.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/text_range.hpp"

namespace rldp::models {

/// "▁" (U+2581), which stands for a space in sentencepiece's vocabularies.
inline constexpr std::string_view word_mark = "\xE2\x96\x81";

/// GPT-2's split into words (Radford et al. 2019, encoder.py).
inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Bytes of the character that starts at `at`, which must be valid UTF-8.
std::size_t character_length(std::string_view text, std::size_t at);

bool is_utf8(std::string_view text);

/// `bytes` with every maximal invalid part replaced by U+FFFD, as Rust's from_utf8_lossy and browsers do.
std::string to_utf8(std::string_view bytes);

void replace_all(std::string& text, std::string_view from, std::string_view to);

/// Normalization form C (Unicode Standard Annex 15): what can be one character is. `text` must be valid UTF-8.
void compose(std::string& text);

/// Bytes of the white space (Unicode's White_Space) that `text` begins or ends with.
std::size_t spaces_at_start(std::string_view text);
std::size_t spaces_at_end(std::string_view text);

/// GPT-2 writes each byte as one printable character, so that vocabularies are text.
const std::array<std::string, 256>& byte_alphabet();

/// The order in which GPT-2 numbers the bytes: printable ones first.
const std::array<std::uint8_t, 256>& byte_order();

/// The bytes that `piece` spells in GPT-2's alphabet; nothing if some character is not in it.
std::optional<std::string> spelled_bytes(std::string_view piece);

/// A compiled PCRE2 expression, with the Unicode semantics of the Oniguruma library that Hugging Face uses. Safe to
/// share.
class regex {
  public:
    /// `where` names file and key in refusals.
    regex(std::string_view pattern, const std::string& where);
    /// All matches that are not empty, left to right. `text` must be valid UTF-8. Errors: bad_input, naming file and
    /// key, where the pattern takes too many steps or too much memory.
    std::vector<text_range> matches(std::string_view text) const;
    std::string replace(std::string_view text, std::string_view with) const;

  private:
    std::shared_ptr<const void> code_;
    std::string where_;
};

}  // namespace rldp::models
