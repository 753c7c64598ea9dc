#include "models/tokenizer/gpt2_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rldp::models {

namespace {

enum class kind : std::uint8_t { other, letter, digit, space };

constexpr std::array<kind, 128> kinds = [] {
    std::array<kind, 128> out{};
    for (char c = 'a'; c <= 'z'; ++c) out[static_cast<std::size_t>(c)] = kind::letter;
    for (char c = 'A'; c <= 'Z'; ++c) out[static_cast<std::size_t>(c)] = kind::letter;
    for (char c = '0'; c <= '9'; ++c) out[static_cast<std::size_t>(c)] = kind::digit;
    for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) out[static_cast<std::size_t>(c)] = kind::space;
    return out;
}();

kind find_kind(char c) {
    return kinds[static_cast<std::size_t>(c)];
}

std::size_t run_end(std::string_view text, std::size_t at) {
    const auto what = find_kind(text[at]);
    while (at < text.size() && find_kind(text[at]) == what) ++at;
    return at;
}

/// Bytes of 's, 't, 're, 've, 'm, 'll or 'd, where `rest` begins with one; else 0.
std::size_t contraction(std::string_view rest) {
    constexpr std::array<std::string_view, 7> all{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    const auto found = std::find_if(all.begin(), all.end(), [&](auto one) { return rest.starts_with(one); });
    return found == all.end() ? 0 : found->size();
}

}  // namespace

bool is_ascii(std::string_view text) {
    unsigned char all = 0;
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return all < 0x80;
}

std::size_t gpt2_word_end(std::string_view text, std::size_t begin) {
    if (text[begin] == '\'')
        if (const auto length = contraction(text.substr(begin))) return begin + length;
    if (find_kind(text[begin]) != kind::space) return run_end(text, begin);
    if (text[begin] == ' ' && begin + 1 < text.size() && find_kind(text[begin + 1]) != kind::space)
        return run_end(text, begin + 1);
    const auto end = run_end(text, begin);
    // The last space before a word is the word's, or a piece of its own.
    return end == text.size() || end == begin + 1 ? end : end - 1;
}

}  // namespace rldp::models
