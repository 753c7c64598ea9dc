#pragma once
// Text for tokenizers: UTF-8, Unicode's forms and classes, GPT-2's byte alphabet and its split into words. Internal to
// the tokenizers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::models {

/// "▁" (U+2581), which stands for a space in sentencepiece's vocabularies.
inline constexpr std::string_view word_mark = "\xE2\x96\x81";

/// GPT-2's split into words (Radford et al. 2019, encoder.py).
inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Bytes of the character that starts at `at`, which must be valid UTF-8.
std::size_t character_length(std::string_view text, std::size_t at);

/// `bytes` with every maximal invalid part replaced by U+FFFD, as Rust's from_utf8_lossy and browsers do.
std::string to_utf8(std::string_view bytes);

void replace_all(std::string& text, std::string_view from, std::string_view to);

/// Normalization forms (Unicode Standard Annex 15): composed or not, with or without compatibility.
enum class unicode_form { nfc, nfd, nfkc, nfkd };
/// `text` must be valid UTF-8, here and below.
void normalize(std::string& text, unicode_form form);

/// Letters by Unicode's mappings of single characters, which know no neighbours.
void make_lower(std::string& text);

/// Takes out all marks (general categories Mn, Mc and Me).
void drop_marks(std::string& text);

/// The code point of the character that starts at `at`.
std::int32_t code_point(std::string_view text, std::size_t at);

/// By general category: digits and other numbers (N…), punctuation (P…, and ASCII's symbols).
bool is_number(std::int32_t point);
bool is_punctuation(std::int32_t point);
/// Unicode's White_Space.
bool is_white_space(std::int32_t point);
/// A number for the script of a character, kana as Han; nothing for a space, and where Unicode knows no script.
std::optional<std::int32_t> find_script(std::int32_t point);

/// Bytes of the white space (Unicode's White_Space) that `text` begins or ends with.
std::size_t spaces_at_start(std::string_view text);
std::size_t spaces_at_end(std::string_view text);

/// GPT-2 writes each byte as one printable character, so that vocabularies are text.
const std::array<std::string, 256>& byte_alphabet();

/// The order in which GPT-2 numbers the bytes: printable ones first.
const std::array<std::uint8_t, 256>& byte_order();

/// The bytes that `piece` spells in GPT-2's alphabet; nothing if some character is not in it.
std::optional<std::string> spelled_bytes(std::string_view piece);

// GPT-2's words. Its split of ASCII text into words, as gpt2_pattern gives it, by hand.

bool is_ascii(std::string_view text);

/// Where the word that begins at `begin` ends; `text` is ASCII and `begin` lies in it.
std::size_t gpt2_word_end(std::string_view text, std::size_t begin);

}  // namespace rldp::models
