#pragma once
// The engine of compare, sweep and protocols: it runs an experiment's cells stage by stage and writes what they say.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eval/experiments/grid.hpp"
#include "eval/experiments/results.hpp"
#include "eval/experiments/run.hpp"
#include "eval/experiments/shards.hpp"

namespace rldp::eval {

/// What its cells say: KIND.json, KIND.csv, KIND.html, and a text for the terminal. Public.
struct report_files {
    std::string json, csv, html, text;
};

/// What the kinds of experiments differ in.
struct experiment {
    grid what;
    /// The cells of each stage, made of what those of earlier stages came to. Those of a stage are all trials, or none.
    std::vector<std::function<std::vector<cell>(const std::vector<measured>&)>> stages;
    /// Of the cells of all stages, and the command that goes on with them.
    std::function<report_files(std::vector<measured>, const std::string& command)> report;
    std::string warning = {};  ///< for whoever runs it, before the first cell; empty: none
    bool one_account = false;  ///< one contract pays for all cells together, in an account of the grid's directory
};

/// Which of the cells one invocation runs, and how.
struct experiment_settings {
    run_settings how;
    shard part = {};
    selection chosen = {};
    bool quiet = false;
};

struct experiment_outcome {
    bool finished = true;         ///< no signal came
    std::vector<measured> cells;  ///< of all stages
    std::vector<cell> own;        ///< those that this invocation was to run
};

/// Runs what is not done yet. After a signal no further stage is run, and what is known is told. Trials are never
/// attacked: they are on data that are nobody's, or public. Errors: as run_cells.
experiment_outcome run_experiment(const experiment& what, const experiment_settings& settings);

/// What `out` holds of its cells, of all stages; nothing is run.
std::vector<measured> read_cells(const experiment& what, const std::filesystem::path& out);

/// Replaces the owner's page of these cells.
void write_owner_page(const std::filesystem::path& out, const std::vector<measured>& cells);

/// Replaces KIND.json, KIND.csv and KIND.html in `out`, and the owner's page of these cells.
void write_files(const std::filesystem::path& out, const std::string& kind, const report_files& files,
                 const std::vector<measured>& cells);

}  // namespace rldp::eval
