#pragma once
// `rldp tune`: trials and a final run that one (ε, δ) pays for together (docs/privacy.md §15), and what they came to.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/experiment.hpp"
#include "eval/experiments/grid.hpp"
#include "eval/experiments/results.hpp"

namespace rldp::eval {

// Cells. The trials, then one more run with the best trial's setting. A cell's arm is its setting, "train.lr=0.003".

struct tune_plan {  // NOLINT(bugprone-exception-escape): moving a JSON of the grid throws nothing
    grid what;
    std::vector<cell> trials;  ///< trial-1 …, in the order of the grid
    std::int64_t runs() const { return std::ssize(trials) + 1; }
};

/// `keys` as "dotted.key=v1,v2". Trials are the whole grid or, where it has more settings, so many of them, drawn by
/// the configuration's seed. Errors: bad_input as of axes_from, for a key whose value may change what a run costs or
/// reads, for one trial, for more trials than settings, and for what of held-out units no trial can be scored by.
tune_plan plan_tune(const std::vector<std::string>& keys, std::optional<std::int64_t> trials, const resolver& resolve);

/// The keys that trials may differ in: those that the schema says so of.
std::vector<std::string> list_tunable_keys();

// Price. What the trials leave of the noise.

struct tune_price {
    std::int64_t runs = 0, bands = 1;                  ///< of noise.bands
    double epsilon_guaranteed = 0, delta = 0;          ///< of all runs together
    double noise_multiplier = 0, alone = 0;            ///< of each step, and that of a run without trials
    double look_noise_multiplier = 0, look_alone = 0;  ///< of each look at held-out units, likewise
    double epsilon_of_one = 0;                         ///< what one of the runs is worth by itself
};
std::string describe(const tune_price& price);
nlohmann::ordered_json to_json(const tune_price& price);

// Choice and report.

/// The trial of the lowest held-out perplexity, of equal ones the first; null while one of them can still come to a
/// score, or none has one.
const measured* find_winner(const std::vector<measured>& trials);

/// The final run: the winner's setting, with draws and noise of its own.
cell make_final(const tune_plan& plan, const cell& winner);

struct tune_report {
    std::vector<measured> trials;
    std::optional<measured> last;       ///< the final run, once trials have chosen it
    std::optional<std::string> winner;  ///< a trial's id
    tune_price price;
    std::string command;
};
tune_report make_report(const tune_plan& plan, const tune_price& price, std::vector<measured> cells,
                        const std::string& command);

std::string tune_json(const tune_report& report);
std::string tune_html(const tune_report& report);
/// For a terminal.
std::string tune_text(const tune_report& report);

experiment make_experiment(const tune_plan& plan, const tune_price& price);

}  // namespace rldp::eval
