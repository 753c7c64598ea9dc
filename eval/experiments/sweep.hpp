#pragma once
// `rldp sweep`: its cells, and what it says of them.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/comparison.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

// Cells. Every combination of the keys' values, with every seed.

struct sweep_cell {
    cell run;
    std::string setting;               ///< "rl.interval=16,rl.batch=4": the cells of one setting differ by seed only
    std::optional<std::int64_t> seed;  ///< absent: the base's own
    std::size_t number = 0;            ///< in the plan
};

struct sweep_plan {
    grid what;
    std::vector<std::string> keys;      ///< those of --grid, in order
    std::vector<std::string> settings;  ///< in the order of the grid, the last key fastest
    std::vector<std::int64_t> seeds;
    bool made_up = false;  ///< the base's own data are made up
    std::vector<sweep_cell> cells;
};

/// `keys` as "dotted.key=v1,v2". Errors: bad_input for a key that is not in the schema (naming the nearest), a key
/// twice, a malformed list, a value out of range (naming the cell).
sweep_plan plan_sweep(const std::vector<std::string>& keys, const std::string& seeds, const resolver& resolve);

// Report. What a sweep says: settings from best to worst, and its files sweep.json, sweep.csv, sweep.html.

struct swept {
    sweep_cell where;
    cell_result result;
};

/// One setting over its seeds. Only cells that are done count.
struct setting_score {
    std::string setting;
    statistic end, best;
    std::size_t cells = 0, failed = 0;
    bool any_bound = true;          ///< of the cells that are done, all have one
    double epsilon_guaranteed = 0;  ///< the largest over seeds
};

struct sweep_report {
    sweep_plan plan;
    std::vector<swept> cells;
    std::vector<setting_score> scores;  ///< by mean end perplexity; those without one last, in the grid's order
    expense cost;
    std::string command;

    /// By mean end perplexity. Absent with less than two settings that have a result.
    const setting_score* best() const;
    const setting_score* worst() const;
};

sweep_report make_report(const sweep_plan& plan, std::vector<swept> cells, const std::string& command);

std::string sweep_json(const sweep_report& report);
std::string sweep_csv(const sweep_report& report);
std::string sweep_html(const sweep_report& report);
/// For a terminal.
std::string sweep_text(const sweep_report& report);
void write_files(const std::filesystem::path& out, const sweep_report& report);

}  // namespace rldp::eval
