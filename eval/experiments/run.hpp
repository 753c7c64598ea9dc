#pragma once
// Runs the cells of a grid, each from where it stands.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

// Running. In child processes of this program, so that one that dies takes no other along.

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

/// The program whose subcommand `run` makes a cell: the running one under the kernel's own name, so that a rebuild
/// meanwhile does not change it; of rldp-research, rldp-torch beside it.
std::filesystem::path find_cell_program();

struct run_settings {
    std::filesystem::path config;  ///< of the base
    std::vector<std::string> set;  ///< the user's own overrides, before the cells'
    std::filesystem::path out;     ///< the grid's directory, claimed
    int jobs = 1;                  ///< processes at a time
    bool audit = false;            ///< attack every cell that is done: `PROGRAM audit OUT/cells/ID --quiet`
    bool account = false;          ///< cells are runs of one tuning, entered in OUT's account: `--account OUT`
    std::filesystem::path program = find_cell_program();
};

/// Reads the rows of a base whose data.path is "-", once for all cells, which inherit them sealed; else nothing.
/// Errors: bad_input, as data::standard_rows.
void take_piped_rows(const run_settings& how);

/// Runs what is not done yet: `PROGRAM run CONFIG --set … --out OUT/cells/ID --lessons OUT/lessons --corpora … --json
/// --quiet`, or `run --resume` where a cell was interrupted. A cell that fails is marked and the others go on. SIGINT
/// and SIGTERM are passed on to the children, which save; no more are started, and false is returned once all have
/// ended. What the children say and how long they take goes to OUT/trusted/cells.
bool run_cells(const std::vector<cell>& cells, const run_settings& how, const watcher& told);

// Starting. How a cell goes on from what its directory holds, and how far its process has come.

enum class start_kind {
    keep,        ///< it is over
    resume,      ///< it was interrupted
    anew,        ///< nothing was spent; what lay there is removed
    audit,       ///< it is over, but for its audit
    impossible,  ///< budget was spent and it can't go on
};

struct cell_start {
    start_kind how;
    std::vector<std::string> arguments;  ///< of the program; empty unless it is to be started
};

/// Whether a cell's run is over and its audit is still to be made.
bool lacks_audit(const cell_files& files, const run_settings& how);

/// Looks, and clears the place of a cell that starts anew.
cell_start choose_start(const cell& one, const cell_files& files, const run_settings& how);

/// Reads how many steps a run has made, from the end of its growing metrics.
class step_counter {
  public:
    explicit step_counter(cell_files files) : files_(std::move(files)) {}
    /// Of the planned steps, from 0 to 1; 0 while nothing is known.
    double fraction();

  private:
    cell_files files_;
    std::int64_t planned_ = 0, step_ = 0;
};

}  // namespace rldp::eval
