#pragma once
// trusted/owner.html and owner.json of a grid, for the owner of the data alone: what attacks on training units found,
// wall times, and why cells failed. No contract covers any of it (docs/privacy.md §7).
#include <filesystem>
#include <string>
#include <vector>

#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

struct owned {
    cell where;
    cell_secrets known;
};

/// What OUT/trusted and the cells' own trusted/ hold of these cells.
std::vector<owned> read_owned(const std::filesystem::path& out, const std::vector<cell>& cells);

std::string owner_json(const std::vector<owned>& cells);
/// Cells that differ by their seed only are shown as one, in means.
std::string owner_html(const std::vector<owned>& cells);

/// Replaces both files.
void write_owner_files(const std::filesystem::path& out, const std::vector<owned>& cells);

}  // namespace rldp::eval
