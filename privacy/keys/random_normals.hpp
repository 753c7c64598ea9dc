#pragma once
// Four-sum normals from words of key stream, in plain loops that the compiler vectorises.
#include <cstddef>
#include <cstdint>

namespace rldp::privacy::detail {

/// Normals per block: a block is four rows of this many words, normal j is made from column j.
inline constexpr std::size_t normals_per_block = 128;
inline constexpr std::size_t words_per_block = 4 * normals_per_block;

/// Writes normals_per_block standard normals. Bit-identical on every processor (no contraction, no reassociation).
void normal_block(const std::uint64_t* words, double* out);

}  // namespace rldp::privacy::detail
