#pragma once
// The kinds of parts: words, numbers, codes, free text.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/grammar/language.hpp"

namespace rldp::data {

/// One of a list. Words that begin alike share their way, as in a trie, without one.
std::shared_ptr<const part> make_words(std::vector<std::string> words);

/// Numbers `low`, `low` + `step`, … up to `high`, in units of 10^-decimals, all nearer to 0 than 10^15; 9 decimals at
/// most. They are written without leading zeros, with as many decimals as there are or fewer.
struct number_range {
    std::int64_t low = 0, high = 0, step = 1;
    int decimals = 0;

    bool holds(std::int64_t units) const;
    std::int64_t count() const { return (high - low) / step + 1; }
    /// "61.5"; without zeros at the end.
    std::string spell(std::int64_t units) const;
    /// None where `text` is no number, or has more decimals than are allowed.
    std::optional<std::int64_t> read(std::string_view text) const;
};
std::shared_ptr<const part> make_number(const number_range& range);

/// From 1 to `most` characters of UTF-8, no control characters, the first no space.
std::shared_ptr<const part> make_text(std::int64_t most);

}  // namespace rldp::data
