#pragma once
// How a cell goes on from what its directory holds, and how far its process has come.
#include <cstdint>
#include <string>
#include <vector>

#include "eval/grid/cell_files.hpp"
#include "eval/grid/grid.hpp"
#include "eval/grid/run.hpp"

namespace rldp::eval {

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
