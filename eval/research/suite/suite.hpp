#pragma once
// A suite: arms on many beds, each bed at its own plan and ε, written down before any result is seen (rldp-research
// suite FILE); the cells of each bed; what they say over beds.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eval/experiments/arms.hpp"
#include "eval/experiments/experiment.hpp"
#include "eval/experiments/grid.hpp"
#include "eval/experiments/results.hpp"
#include "eval/research/protocol/protocol.hpp"
#include "eval/research/statistics/paired.hpp"

namespace rldp::eval {

struct bed {
    std::string name;
    std::filesystem::path base;    ///< its configuration, which says data, plan and ε
    measure compared;              ///< lower is better
    std::vector<std::string> set;  ///< on the base, before an arm's

    /// What its learning curves show: run logs have no bits per byte.
    measure drawn() const { return compared.name == "bits_per_byte" ? *find_measure("perplexity") : compared; }
};

/// Beds that are told together: verdicts are over them.
struct suite_part {
    std::string name, sentence;
    std::vector<std::int64_t> seeds;
    std::vector<arm> arms;  ///< where `tuned` is not empty, all its settings are trials that the budget pays for
    std::vector<bed> beds;
};

struct suite {
    std::string sentence;
    std::vector<suite_part> parts;
    std::string ours, control;  ///< arms; ours less control is what ours has that the control lacks
};

/// A JSON object with "about", "set" (on all beds), "arms" (name: {"about", "set", "trials": {key:
/// [values]}}), "ours", "control" and "parts" (name: {"about", "seeds", "arms": [name], "beds": {name: {"base",
/// "measure", "set"}}}). Paths are relative to the file. Errors: bad_input naming file and key, as of read_protocol; a
/// bed twice; a part without ours.
suite read_suite(const std::filesystem::path& file);

// Cells of a bed.

/// What an arm that pays for trials tries, as overrides.
std::vector<arm_setting> list_settings(const arm& which);
/// How many runs an arm's budget pays for: its trials and the last one.
std::int64_t count_runs(const arm& which);

struct bed_plan {  // NOLINT(bugprone-exception-escape): moving a JSON of the grid throws nothing
    suite_part part;
    bed which;
    grid what;
    resolver resolve;
    /// By arm that pays for trials: the ε that one of its runs is worth, so that all of a seed cost what any run does.
    std::map<std::string, double> epsilon_of_one;

    std::size_t tests() const { return part.arms.size() * part.seeds.size(); }
};

/// Errors: bad_input for a base that is not sound or lacks what the measure needs, and naming a cell that is refused.
bed_plan plan_bed(const suite_part& part, const bed& which, std::map<std::string, double> epsilon_of_one,
                  const resolver& resolve);

/// Without a report: what a bed says is told with the others' (make_report()). Trials are on the bed's own records,
/// each seed's own, and are chosen by what they lose exactly on held-out units, which no trial of a user's is told so
/// well: it favours the arm.
experiment make_experiment(const bed_plan& plan);

// What a suite found.

/// What an arm came to on a bed, over seeds.
struct bed_score {
    std::string arm;
    std::map<std::int64_t, double> ends = {};  ///< by seed
    statistic end = {};                        ///< of them
    std::size_t diverged = 0, failed = 0;
    curve learned = {};  ///< bed::drawn() by step, mean over seeds
    /// How far its mean end is from the best arm's, where what the best arm gained is 1. Absent until all arms and
    /// seeds are done, and where nobody gained anything.
    std::optional<double> regret = {};
};

struct bed_result {
    bed_plan plan;
    double before = 0;  ///< the measure before the first step, mean over tests; NaN while nothing is done
    std::vector<bed_score> scores = {};  ///< in the arms' order
    std::vector<measured> cells = {};
    bool complete = false;

    /// All arms have one, or none.
    bool has_regrets() const { return scores.front().regret.has_value(); }
};
bed_result judge_bed(const bed_plan& plan, std::vector<measured> cells);

/// Ours against one arm, a bed's regrets being a pair; gains are above 0 where ours is better.
struct suite_duel {
    std::string arm;
    paired_comparison seen;  ///< p: Wilcoxon's, over beds
    std::optional<double> adjusted_p;
    std::optional<verdict> said;  ///< both absent until all beds are done
};

/// An arm over the beds that are complete.
struct suite_standing {
    std::string arm;
    std::size_t beds = 0;
    double mean = 0, worst = 0;  ///< regret
    std::string worst_bed = {};
    std::optional<confidence_interval> interval = {};  ///< of the mean, bootstrap over beds
    std::size_t first = 0;                             ///< beds where nobody is better
};

struct part_result {
    std::string name, sentence;
    std::vector<bed_result> beds;
    std::vector<suite_standing> standings = {};  ///< the least mean first
    std::vector<suite_duel> duels = {};          ///< in the arms' order
    std::size_t complete = 0;                    ///< beds
};
part_result judge_part(const suite& how, const suite_part& part, std::vector<bed_result> beds);

struct suite_report {
    suite how;
    std::vector<part_result> parts;
    std::set<std::string> versions;  ///< of rldp that ran the cells
    std::string command;
};
suite_report make_report(const suite& how, std::vector<part_result> parts, const std::string& command);

std::string suite_json(const suite_report& report);
std::string suite_csv(const suite_report& report);
std::string suite_html(const suite_report& report);
/// For a terminal.
std::string suite_text(const suite_report& report);

}  // namespace rldp::eval
