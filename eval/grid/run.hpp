#pragma once
// Runs cells in child processes of this program, so that one that dies takes no other along.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eval/grid/cell_files.hpp"
#include "eval/grid/grid.hpp"

namespace rldp::eval {

struct cell_progress {
    std::string id;
    double fraction = 0;  ///< of its planned steps
};

/// Told on the thread that called run_cells().
struct watcher {
    /// A cell has ended; kept: it had ended before.
    std::function<void(const cell& which, cell_state how, bool kept)> on_end;
    /// Once a second: the cells that run, and the number that wait.
    std::function<void(const std::vector<cell_progress>& running, std::size_t waiting)> on_tick;
};

struct run_settings {
    std::filesystem::path config;  ///< of the base
    std::vector<std::string> set;  ///< the user's own overrides, before the cells'
    std::filesystem::path out;     ///< the grid's directory, claimed
    int jobs = 1;                  ///< processes at a time
    bool audit = false;            ///< attack every cell that is done: `PROGRAM audit OUT/cells/ID --quiet`
    /// The running program under the kernel's own name: a rebuild meanwhile does not change it.
    std::filesystem::path program = "/proc/self/exe";
};

/// Runs what is not done yet: `PROGRAM run CONFIG --set … --out OUT/cells/ID --lessons OUT/lessons --corpora … --json
/// --quiet`, or `run --resume` where a cell was interrupted. A cell that fails is marked and the others go on. SIGINT
/// and SIGTERM are passed on to the children, which save; no more are started, and false is returned once all have
/// ended. What the children say and how long they take goes to OUT/trusted/cells.
bool run_cells(const std::vector<cell>& cells, const run_settings& how, const watcher& told);

}  // namespace rldp::eval
