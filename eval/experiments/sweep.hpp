#pragma once
// `rldp sweep`: its cells, and what it says of them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/experiment.hpp"
#include "eval/experiments/grid.hpp"
#include "eval/experiments/results.hpp"

namespace rldp::eval {

// Cells. Every combination of the keys' values, with every seed. A cell's arm is its setting,
// "rl.interval=16,rl.batch=4": the cells of one setting differ by seed only.

struct sweep_plan {
    grid what;
    std::vector<std::string> keys;      ///< those of --grid, in order
    std::vector<std::string> settings;  ///< in the order of the grid, the last key fastest
    std::vector<std::int64_t> seeds;
    bool made_up = false;  ///< the base's own data are made up
    std::vector<cell> cells;
};

/// `keys` as "dotted.key=v1,v2". Errors: bad_input for a key that is not in the schema (naming the nearest), a key
/// twice, a malformed list, a value out of range (naming the cell).
sweep_plan plan_sweep(const std::vector<std::string>& keys, const std::string& seeds, const resolver& resolve);

// Report. What a sweep says: settings from best to worst, and its files sweep.json, sweep.csv, sweep.html.

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
    std::vector<measured> cells;
    std::vector<setting_score> scores;  ///< by mean end perplexity; those without one last, in the grid's order
    expense cost;
    std::string command;

    /// By mean end perplexity. Absent with less than two settings that have a result.
    const setting_score* best() const;
    const setting_score* worst() const;
};

sweep_report make_report(const sweep_plan& plan, std::vector<measured> cells, const std::string& command);

std::string sweep_json(const sweep_report& report);
std::string sweep_csv(const sweep_report& report);
std::string sweep_html(const sweep_report& report);
/// For a terminal.
std::string sweep_text(const sweep_report& report);

experiment make_experiment(const sweep_plan& plan);

}  // namespace rldp::eval
