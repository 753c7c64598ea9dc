#pragma once
// A run as its watchers see it: what it is, what was promised, and the last value of each quantity that is watched; and
// this as a row of JSON.
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/artifacts/quantities.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::monitor {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// What its owner promised, from the ledger's first line: it stands before the first step.
struct contract_view {
    bool any = false;                          ///< false: nothing is guaranteed
    std::string headline;                      ///< HTML; one sentence
    std::vector<std::string> holds, does_not;  ///< HTML sentences
    double epsilon_budget = unknown, delta = unknown, epsilon_guaranteed = unknown;
    std::string unit, policy, accountant;
    struct level {
        double noise_multiplier = unknown;
        std::int64_t steps = 0;  ///< planned
    };
    std::vector<level> deck;  ///< rising; empty without one
};

/// A table as it is made: the rows that came last, how many there are and how many are asked for.
struct table_progress {
    eval::made_up_table last;
    std::int64_t made = 0, asked = 0;
};

/// The hub fills in name, state, steps, latest and the contract's ε; who follows a run's files knows the rest, too.
struct run_view {
    std::string id;     ///< unique among the runs shown; letters, digits, . _ ~ + -
    std::string name;   ///< its directory's, below the one that was named; unique, too
    std::string title;  ///< run.name; empty: none
    std::vector<std::string> tags;
    std::string notes;
    /// starting | running | stopping | done | budget exhausted | interrupted | failed; of a run's files also "silent"
    /// (unfinished, and no process here writes it) and "damaged".
    std::string state;
    std::string problem;  ///< why it is shown as damaged, or what of it can't be read; one line, or nothing
    std::string version, method, model, data;  ///< empty: not known; model and data without their directories
    std::int64_t step = 0, steps = 0;          ///< done and planned
    eval::measurements latest;
    std::int64_t evaluated_step = 0;  ///< as of which quantities of evaluations are
    std::int64_t progress_step = 0;   ///< as of which the ε so far is; 0: nothing has been priced yet
    double perplexity_before = unknown;
    std::string held_out;  ///< what is published of held-out units: private, none or raw
    std::optional<contract_view> contract;
    std::string ledger_head;          ///< hash of its last entry
    std::vector<std::string> groups;  ///< adapters, once the summary tells them
    std::vector<std::string> controller, warnings;
    /// What the tuned model made up at the end, or makes up now: no more than fits a page.
    eval::made_up_table table;
    std::int64_t rows_made = 0, rows_asked = 0;        ///< of a table that is under way; 0: none
    bool has_report = false, has_certificate = false;  ///< pages to read, once the run has ended

    double value(eval::quantity which) const { return latest[which].value; }
    /// Takes what a line of the run log has and no later line told.
    void observe(const eval::metrics_line& line);
};

/// Whether nothing more will come.
bool is_over(const run_view& run);
/// Whether a process is at it; a run that is neither this nor over waits for a resume.
bool goes_on(const run_view& run);

// Rows. A run as one line of JSON: a row of the dashboard's overview, an event of its stream, a line of `rldp monitor
// --json`.

/// Of every quantity its name, and `NAME_in` with [low, high] where it may carry noise; what is not known is null, and
/// so is what is not finite, for a browser's JSON has no other word for it.
nlohmann::ordered_json to_json(const run_view& run);
/// The same in one line, whatever bytes its texts hold.
std::string to_row(const run_view& run);
/// Reads what any program may have sent. Errors: bad_input, in one short line, for what is no row: a text is at most
/// 4 KiB without control characters, a count at most 1e15.
run_view parse_row(std::string_view line);

}  // namespace rldp::monitor
