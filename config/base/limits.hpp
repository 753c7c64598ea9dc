#pragma once
// Limits that a key of the configuration shares with the library behind it: the schema prints them as ranges, the
// library holds to them.
#include <cstdint>

namespace rldp::limits {

inline constexpr std::int64_t largest_rank = 65536;      // of an adapter
inline constexpr std::int64_t longest_window = 1 << 24;  // tokens
inline constexpr std::int64_t most_synthetic_records = 1'000'000;
inline constexpr std::uint64_t most_synthetic_worlds = 1'000'000;
inline constexpr std::int64_t longest_secret = 10;                   // characters of a canary
inline constexpr std::int64_t fewest_references = 20;                // secrets that a law is fitted to
inline constexpr double least_radius = 1e-8, greatest_radius = 1e8;  // gradient norm

}  // namespace rldp::limits
