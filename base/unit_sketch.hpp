#pragma once
// A sample of a table's identities by which a later version of the table is recognised (docs/privacy.md §7).
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rldp {

/// Adaptive sampling (Wegman; Flajolet 1990): of all hashes those with at least `level` leading zero bits, for the
/// least level that leaves no more than `most`. It depends on the set alone, not on order or repetition, and two
/// samples are compared at the higher of their levels, however unlike their sizes are.
struct unit_sketch {
    static constexpr std::size_t most = 4096;

    unsigned level = 0;
    std::vector<std::uint64_t> hashes;  ///< ascending
    bool operator==(const unit_sketch&) const = default;
};

/// By what was sampled: "rows", and keys by the name of what they name.
using unit_sketches = std::map<std::string, unit_sketch>;

}  // namespace rldp
