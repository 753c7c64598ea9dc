#pragma once
// What shards of a grid have done elsewhere.
#include <cstddef>
#include <filesystem>

#include "eval/grid/grid.hpp"

namespace rldp::eval {

/// Takes over the cells that are done in `from`, the directory of the same grid, and are not done in `out`; of those
/// that failed there, that they did and what they spent. Answers how many are done here since. Errors: bad_input where
/// `from` holds another grid, and for a cell that is done there and was begun here, naming its directory: what it spent
/// here is spent.
std::size_t collect(const std::filesystem::path& out, const grid& what, const std::filesystem::path& from);

}  // namespace rldp::eval
