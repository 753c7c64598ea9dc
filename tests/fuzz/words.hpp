#pragma once
// Short texts, there and back, with a tokenizer that a file made.
#include <array>

#include "models/tokenizer/tokenizer.hpp"
#include "tests/fuzz/reading.hpp"

namespace rldp::fuzz {

/// `input`: the file's bytes, of which some are a text too.
inline void try_words(const models::tokenizer& words, std::string_view input) {
    constexpr std::size_t longest = 64;  // bytes of a text
    constexpr std::array<std::string_view, 5> texts = {"", "The patient's  age is 73.\n", "<s>a\xE2\x96\x81 b</s>",
                                                       "na\xC3\xAFve \xF0\x9F\x99\x82", "\xFF\xC3 \x80"};
    const auto there_and_back = [&](std::string_view text) {
        const auto ids = words.encode(text);
        for (const auto id : ids) require(id >= 0 && id < words.size(), "a token beyond the vocabulary");
        words.decode(ids);
    };
    for (const auto text : texts) there_and_back(text);
    there_and_back(input.substr(input.size() / 2, longest));
}

}  // namespace rldp::fuzz
