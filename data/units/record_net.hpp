#pragma once
// Whether records of one file stand in another, also where they were written down again: other white space, case or
// punctuation, compatibility forms of characters, or a passage within another text. A net and no proof: what was
// reworded, translated or cut short slips through (docs/privacy.md §7).
#include <cstdint>
#include <string>
#include <unordered_set>

#include "data/sources/text.hpp"

namespace rldp::data {

class record_net {
  public:
    /// Words of a passage that two texts hardly share by chance, as contamination checks of language models count them
    /// (Brown et al. 2020, appendix C).
    static constexpr std::size_t passage = 13;

    void add(const record& rendered);
    /// Whether it has the words of a record that was added, the values of such a row, or a passage of a value (of a
    /// conversation: of an answer, of other text: of all of it) with one of them. A template's own words are nobody's
    /// and match nothing.
    bool holds(const record& rendered) const;

  private:
    std::unordered_set<std::uint64_t> wholes_,
        passages_;  ///< hashes; two of different texts agree by chance hardly ever
};

}  // namespace rldp::data
