#pragma once
// What all cases stand on: the program, the preloaded library, and what runs that nothing disturbs come to.
#include <map>
#include <string>
#include <vector>

#include "tests/faults/files.hpp"
#include "tests/faults/journal.hpp"
#include "tests/faults/process.hpp"

namespace rldp::testing {

/// Below it lies everything of one case: its run directory, and what belongs to no run in `aside`.
struct yard {
    path root;

    path below() const { return root / "below"; }
    path run() const { return below() / "run"; }
    path aside() const { return root / "aside"; }
};

/// A short run of the tiny model.
struct variant {
    std::string name;
    std::vector<std::string> sets;
    bool seeded = false;  ///< every uninterrupted run is the same
    std::int64_t steps = 8;

    std::vector<std::string> start(const path& sources, const path& run) const;
};
std::vector<std::string> resume(const path& run);

/// One metrics line per step, and one per evaluation.
struct metrics_step {
    bool step = false, evaluated = false;
    std::string loss;  ///< "" where there is none
    int lines = 0;

    /// Charged, but its release never came: a crash may cost that, and the steps after it are then others.
    bool lost() const { return step && loss.empty(); }
};
std::map<std::int64_t, metrics_step> read_steps(const std::string& metrics);

/// An uninterrupted run.
struct reference {
    variant how;
    microseconds time{};
    path finished;     ///< its yard
    path interrupted;  ///< the yard of one that was killed in its middle; seeded ones only
    std::vector<event> journal;
    std::vector<event> before;   ///< of the process that was killed
    std::vector<event> resumed;  ///< of one that goes on from `interrupted`
    std::string adapter;
    std::vector<std::string> multipliers;
    std::map<std::int64_t, metrics_step> steps;
};

struct ground {
    path program, shim, sources, scratch;
    beginning forked;      ///< the same program, in a process that needn't load it: most of a short run's time
    std::string sabotage;  ///< an order to the library that every process gets: the harness must see what it breaks
    std::vector<reference> references;

    /// Environment for a process whose files below the yard are watched: orders as in shim/plan.hpp.
    std::map<std::string, std::string> watched(const yard& where, const path& journal,
                                               const std::string& orders = {}) const;
    /// Runs every variant once. Errors: one of them doesn't finish.
    void prepare();

  private:
    reference refer(const variant& how) const;
};

std::vector<variant> variants();

}  // namespace rldp::testing
