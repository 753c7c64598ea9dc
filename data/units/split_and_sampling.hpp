#pragma once
// Which side a unit is on, and which units a step draws.
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/kinds.hpp"
#include "data/units/corpus.hpp"

namespace rldp::data {

// Chances. Uniform words decide them.

/// True with the given probability, to 2⁻⁶⁴ (rounded down), for a uniform word; exact at 0 and 1.
inline bool happens(std::uint64_t word, double probability) {
    if (probability >= 1) return true;
    return word < static_cast<std::uint64_t>(std::ldexp(probability, 64));
}

// Split. Who stands where: a unit's side and canary follow from a keyed hash of its identity, so adding one unit moves
// no other (docs/privacy.md §1).

inline constexpr std::string_view secret_symbols = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Independent uniform words of one identity, and the secret it would carry.
struct identity_hash {
    std::uint64_t id;
    std::uint64_t side;                                ///< decides Attack
    std::uint64_t eval;                                ///< decides Eval among the rest
    std::uint64_t canary;                              ///< decides who carries a canary
    std::array<char, limits::longest_secret> symbols;  ///< of [A-Z0-9]

    /// What it would carry; a shorter canary is its beginning.
    std::string secret() const { return {symbols.begin(), symbols.end()}; }
};

/// Keyed BLAKE2b under a key made from the public split seed.
class identity_hasher {
  public:
    explicit identity_hasher(std::int64_t seed);
    /// `kind` keeps identities of different kinds apart ("record", "group", "content").
    identity_hash operator()(std::string_view kind, std::string_view identity) const;

  private:
    std::string key_;
};

enum class side : std::uint8_t { train, eval, attack };

struct placement {
    side where = side::train;
    bool canary = false;
};

/// Hashes of very many units: it grows without being copied, which would take twice the memory.
using hash_list = std::deque<identity_hash>;

/// Places every unit, fewer than 2³². Errors: bad_input where a share is outside [0, 1), canaries are negative or more
/// than training units.
std::vector<placement> place(std::span<const identity_hash> units, const split_rule& rule);
std::vector<placement> place(const hash_list& units, const split_rule& rule);

// Sampling. Poisson sampling of units.

/// Indices of the units drawn: each of n independently with probability `rate`, in ascending order.
/// `uniform64` yields independent uniform 64-bit words; exactly one is used per unit, so unit i's draw never moves
/// another's.
std::vector<std::int64_t> poisson_draw(std::int64_t n, double rate, const std::function<std::uint64_t()>& uniform64);

/// The group whose units the step of that ledger seq may draw, of `groups`: they take turns, whether or not a step was
/// lost, so that `groups` consecutive seqs are a round in which no unit takes part twice (docs/privacy.md §14).
std::uint16_t find_group_of_step(std::uint64_t seq, std::int64_t groups);

/// The same among the units of `group`; `groups` holds each unit's. Every unit uses one word, drawn or not.
std::vector<std::int64_t> draw_from_group(std::span<const std::uint16_t> groups, std::uint16_t group, double rate,
                                          const std::function<std::uint64_t()>& uniform64);

}  // namespace rldp::data
