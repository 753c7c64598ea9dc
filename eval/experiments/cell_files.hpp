#pragma once
// A grid's cell as its directory has it: files, state, results, figures of its audit.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/directories.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {

// Audit. The figures of a cell's audit that methods are compared by.

/// In the order of the published tables, then ours. Of members' endings; Jaccard of the published prompt, or of the
/// record alone where there is none.
inline constexpr std::array attack_figures = {"mean log-probability",
                                              "mean perplexity",
                                              "membership AUC",
                                              "Jaccard 1",
                                              "Jaccard 2",
                                              "Jaccard 3",
                                              "Jaccard 4",
                                              "valid outputs",
                                              "secrets found",
                                              "mean exposure, bits",
                                              "ε at least"};

/// Of an audit.json, by name; what the audit left out is not there. Empty where there is no file. Errors: bad_input
/// naming the file.
std::map<std::string, double> read_attacks(const std::filesystem::path& audit_json);

// Files. What a grid's directory holds of one cell, and what can be read off it.

/// A grid without trusted/ here and in its cells may be passed on: the rest holds public values only
/// (docs/privacy.md §7).
struct grid_directory {
    std::filesystem::path root;

    std::filesystem::path cells() const { return root / "cells"; }
    std::filesystem::path lessons() const { return root / "lessons"; }  ///< of public records, shared by cells
    std::filesystem::path description() const { return root / "grid.json"; }
    std::filesystem::path trusted_side() const { return root / "trusted"; }
    std::filesystem::path trusted_cells() const { return trusted_side() / "cells"; }
    /// Records as tokens, shared by cells until all have ended.
    std::filesystem::path corpora() const { return staged_directory::shared_name(trusted_cells(), "corpus"); }
    std::filesystem::path owner_page() const { return trusted_side() / "owner.html"; }
    std::filesystem::path owner_json() const { return trusted_side() / "owner.json"; }

    /// Makes the directories, trusted_side() with mode 0700. Errors: as create_private_directory.
    void create() const;
};

struct cell_files {
    std::filesystem::path out;  ///< of the grid
    std::string id;

    run_directory run() const { return {grid_directory{out}.cells() / id}; }
    std::filesystem::path log() const { return trusted(".log"); }      ///< the child's standard error
    std::filesystem::path output() const { return trusted(".json"); }  ///< its standard output, once it has ended well
    std::filesystem::path partial_output() const { return trusted(".json.partial"); }
    std::filesystem::path history() const { return trusted(".time.json"); }

  private:
    std::filesystem::path trusted(const char* ending) const {
        return grid_directory{out}.trusted_cells() / (id + ending);
    }
};

/// What is known of a cell's processes so far, over all resumes. Trusted: times follow the draws.
struct cell_history {
    double seconds = 0;                  ///< wall time
    int starts = 0;                      ///< processes started
    std::optional<std::string> failure;  ///< of the last one
};
cell_history read_history(const cell_files& files);
void write_history(const cell_files& files, const cell_history& history);

enum class cell_state {
    not_run,     ///< nothing was spent
    unfinished,  ///< interrupted or under way: can be resumed
    failed,      ///< its last process failed; what was spent is spent
    done,        ///< over, at the plan's end or with its budget
};
std::string name_of(cell_state state);  ///< "not run", "unfinished", "failed", "done"

/// What a ledger's first line commits to: spent from the first step on, however the run ends.
struct commitment {
    double epsilon_guaranteed = 0, delta = 0;
    std::int64_t steps = 0;
    bool holds = false;  ///< false: as_published or insecure noise, no bound at all
    publication held_out = publication::raw;
};
std::optional<commitment> read_commitment(const cell_files& files);

/// The summary of a run that is over (run/artifacts/run_directory.hpp).
std::optional<run_summary> finished_summary(const cell_files& files);

/// What pages that are passed on are made of: of the public side, but for the state.
struct cell_result {
    cell_state state = cell_state::not_run;
    std::optional<run_summary> summary;  ///< where done
    std::vector<metrics_line> metrics;   ///< where there are any
    std::optional<commitment> committed;
    bool lost = false;  ///< it can't go on, or was removed, and what it spent is spent
};
cell_result read_result(const cell_files& files);

/// What only the owner of the data may see.
struct cell_secrets {
    cell_history history;
    std::map<std::string, double> attacks;  ///< of its audit; empty without
    std::string failure;  ///< why its run or its audit failed, and the log's last lines; empty where neither did
};
cell_secrets read_secrets(const cell_files& files);

/// The last `lines` lines of the log that are not empty.
std::string last_log_lines(const cell_files& files, std::size_t lines = 5);

}  // namespace rldp::eval
