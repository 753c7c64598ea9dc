#pragma once
// A grid's cells on several machines: parts of them, and what was done elsewhere.
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/experiments/grid.hpp"

namespace rldp::eval {

// Shards. Each is a part of a grid's cells, for one of several machines.

/// "2/5": the second of five parts.
struct shard {
    std::size_t part = 1, of = 1;
};
/// Errors: bad_input for what is no such part.
shard shard_from(const std::string& text);
/// By the cells' numbers: the same cell is in the same part whatever else can be run yet.
std::vector<cell> take_shard(const std::vector<cell>& cells, const shard& which);

// Collecting. What shards of a grid have done elsewhere.

/// Takes over the cells that are done in `from`, the directory of the same grid, and are not done in `out`; of those
/// that failed there, that they did and what they spent. Answers how many are done here since. Errors: bad_input where
/// `from` holds another grid, and for a cell that is done there and was begun here, naming its directory: what it spent
/// here is spent.
std::size_t collect(const std::filesystem::path& out, const grid& what, const std::filesystem::path& from);

}  // namespace rldp::eval
