#pragma once
// By what a budget book knows its population again: samples of unit identities (config/base/unit_sketch.hpp), hashed
// once more under the book's key. Without that key they answer no question about anybody.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "config/base/unit_sketch.hpp"
#include "privacy/keys/random.hpp"

namespace rldp::privacy {

struct keyed_sketch {
    unsigned level = 0;
    std::map<std::uint64_t, unsigned> units;  ///< keyed hash → leading zeros of the hash that was sampled
    bool operator==(const keyed_sketch&) const = default;
};
using keyed_sketches = std::map<std::string, keyed_sketch>;

/// From this share on two tables are of one population.
inline constexpr double alike_from = 0.25;

keyed_sketches under(const run_key& key, const unit_sketches& sketches);
/// The estimated share of the smaller one's units that are in the other, in [0, 1]: the largest over what both sampled.
double likeness(const keyed_sketches& a, const keyed_sketches& b);
/// Of the units in either.
keyed_sketches joined(const keyed_sketches& a, const keyed_sketches& b);

/// Of a book. Empty where it has none yet. Errors: bad_input where the file is damaged.
keyed_sketches read_sketches(const std::filesystem::path& book);
void write_sketches(const std::filesystem::path& book, const keyed_sketches& sketches);

}  // namespace rldp::privacy
