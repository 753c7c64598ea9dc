#pragma once
// What a protocol found, and its files protocol.json, protocol.csv, protocol.html.
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eval/grid/comparison/comparison.hpp"
#include "eval/grid/expense.hpp"
#include "eval/grid/protocol/protocol_grid.hpp"
#include "eval/statistics/pairs.hpp"
#include "eval/statistics/speed.hpp"

namespace rldp::eval {

/// An arm at one ε, over the seeds that are done.
struct arm_result {
    tuned_arm tuned;
    statistic end;           ///< of the protocol's measure
    std::size_t failed = 0;  ///< runs that failed
    std::size_t diverged =
        0;  ///< runs that ended in no finite number: each counts as what it had before its first step
    std::size_t exhausted = 0;  ///< runs whose budget was spent before the plan's end
};

/// Ours against one arm, over the seeds that both have done.
struct duel {
    std::string arm;
    double epsilon = 0;
    paired_comparison seen;
    /// Holm, over all other arms at this ε. Absent, as what it says, until all arms and seeds of this ε are done: a
    /// verdict over those that happen to be would be another at each look.
    std::optional<double> adjusted_p;
    std::optional<verdict> said;
};

/// How soon an arm reaches the best other arm's mean end, over seeds. A seed that never does counts as all of its run.
struct pace {
    double epsilon = 0;
    std::string arm;              ///< ours; or the best of the others itself, to compare with
    std::string reached;          ///< the best of the others
    double target = 0;            ///< its mean end
    speed_to_target steps = {};   ///< shares of the arm's own steps
    double examples = 1;          ///< expected examples over the best arm's, on average; never: those of the whole run
    double epsilon_share = 1;     ///< of ε that was spent by then, at most
    std::int64_t resolution = 0;  ///< steps between two looks
};

struct protocol_report {
    protocol_plan plan;
    std::vector<measured_cell> cells;  ///< trials, then tests
    std::vector<arm_result> arms;      ///< ε by ε, in the protocol's order
    std::vector<duel> duels;
    std::vector<pace>
        paces;  ///< of each ε that is complete: ours, then the best other arm; none where no curve is known
    std::set<std::string> versions;  ///< of rldp that ran the cells
    expense cost;
    std::string command;
};

protocol_report make_report(const protocol_plan& plan, std::vector<measured_cell> cells, const std::string& command);

std::string protocol_json(const protocol_report& report);
std::string protocol_csv(const protocol_report& report);
std::string protocol_html(const protocol_report& report);
/// For a terminal.
std::string protocol_text(const protocol_report& report);
void write_files(const std::filesystem::path& out, const protocol_report& report);

}  // namespace rldp::eval
