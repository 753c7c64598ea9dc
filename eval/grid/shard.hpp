#pragma once
// A part of a grid's cells, for several machines.
#include <cstddef>
#include <string>
#include <vector>

namespace rldp::eval {

/// "2/5": the second of five parts.
struct shard {
    std::size_t part = 1, of = 1;
};
/// Errors: bad_input for what is no such part.
shard shard_from(const std::string& text);
/// By the cells' numbers: the same cell is in the same part whatever else can be run yet.
template <class Cell>
std::vector<Cell> take_shard(const std::vector<Cell>& cells, const shard& which) {
    std::vector<Cell> out;
    for (const auto& one : cells)
        if (one.number % which.of == which.part - 1) out.push_back(one);
    return out;
}

}  // namespace rldp::eval
