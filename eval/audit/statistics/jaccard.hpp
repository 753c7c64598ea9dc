#pragma once
// How alike generated secrets and canaries are, by the character n-grams that they share, as RLDP's publication has it.
// Characters are bytes.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::eval {

/// 1 to 10 characters, all of them A–Z or 0–9.
bool secret_like(std::string_view text);

/// Over all pairs.
struct similarity {
    double mean;       ///< in [0, 1]
    double deviation;  ///< of the pairs as a whole population (divided by their number)
};

constexpr std::size_t longest_gram = 4;
/// For n = 1 to 4 at index n − 1: |G∩H|/|G∪H| of every generated string with every canary, G and H being the sets of
/// their substrings of length n; 0 where both are shorter than n. Equal strings count as often as they are there.
/// Absent where there is no pair.
std::optional<std::array<similarity, longest_gram>> jaccard(const std::vector<std::string>& generated,
                                                            const std::vector<std::string>& canaries);

}  // namespace rldp::eval
