#pragma once
// How far a run has come, as its files say (docs/reliability.md, promise 5).
#include "eval/report/run_directory.hpp"

namespace rldp::eval {

enum class run_state {
    none,        ///< no run: nothing was spent
    unfinished,  ///< it has its key: rldp run --resume goes on with it
    ending,      ///< cut while it ended: its key is erased, and its certificate waits in trusted/
    over,        ///< all is written, and no secret is left
    lost,        ///< neither key nor end: nothing can be added to it
};

/// Errors: bad_input for a summary that is damaged.
run_state read_state(const run_directory& run);

}  // namespace rldp::eval
