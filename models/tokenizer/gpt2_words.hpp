#pragma once
// GPT-2's split of ASCII text into words, as gpt2_pattern gives it, by hand. Internal to the tokenizers.
#include <cstddef>
#include <string_view>

namespace rldp::models {

bool is_ascii(std::string_view text);

/// Where the word that begins at `begin` ends; `text` is ASCII and `begin` lies in it.
std::size_t gpt2_word_end(std::string_view text, std::size_t begin);

}  // namespace rldp::models
