#pragma once
// What a sweep says: settings from best to worst, and its files sweep.json, sweep.csv, sweep.html.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eval/grid/cell_files.hpp"
#include "eval/grid/comparison/comparison.hpp"
#include "eval/grid/expense.hpp"
#include "eval/grid/sweep/sweep_grid.hpp"

namespace rldp::eval {

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
