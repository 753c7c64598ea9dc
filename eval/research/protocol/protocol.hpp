#pragma once
// A protocol: what a comparison will do, written down before its results are seen (rldp compare --protocol FILE); the
// cells that it makes; what they found.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eval/experiments/arms.hpp"
#include "eval/experiments/experiment.hpp"
#include "eval/experiments/grid.hpp"
#include "eval/experiments/results.hpp"
#include "eval/research/statistics/paired.hpp"

namespace rldp::eval {

/// What is compared of a run that is done. Each is better the lower it is, but for auc and accuracy.
struct measure {
    std::string name;  ///< perplexity | value_nats | bits_per_byte | auc | accuracy
    better which = better::lower;

    /// At the end of the run. Absent where the run has no such number.
    std::optional<double> of(const run_summary& done) const;
    /// Before its first step.
    std::optional<double> before(const run_summary& done) const;
    /// Over the run, as far as the run log has it: perplexity and value_nats, else nothing.
    std::optional<double> of(const metrics_line& line) const;
    bool prefers(double one, double other) const { return which == better::lower ? one < other : one > other; }

    struct final_value {
        double value;
        bool diverged;
    };
    /// Of a cell that is done. Where its run ended in no finite number, its user keeps the model that it began with.
    std::optional<final_value> find_final(const cell_result& result) const;
};
/// Nothing for a name that is none of `measure_names`.
std::optional<measure> find_measure(std::string_view name);
inline constexpr std::string_view measure_names = "perplexity, value_nats, bits_per_byte, auc or accuracy";

struct protocol {
    std::string sentence;        ///< what it is about
    std::filesystem::path base;  ///< the configuration that all arms begin from
    measure compared;
    std::vector<double> epsilons;
    std::vector<std::int64_t> seeds;
    std::vector<arm> arms;  ///< in the file's order
    /// Every arm gets as many trials, or all that it has; on data that are not those of the test.
    struct {
        std::vector<std::string> set;  ///< of all trials
        std::vector<std::int64_t> seeds;
        std::int64_t trials = 0;  ///< settings of each arm and ε; 0: nothing is tuned
        std::int64_t draw = 0;    ///< decides which of an arm's settings are tried
    } tuning;
    std::string ours;  ///< the arm that the others are compared with

    /// The least p, after Holm, that paired permutations of so many seeds can give each of so many arms.
    double least_p() const;
};

/// A JSON object with "about", "base", "measure", "epsilons", "seeds", "arms" (name: {"about", "set": {key: value},
/// "not_tuned": [key]}), "tuning" ({"set", "seeds", "trials", "draw", "axes": {key: [values]}}) and "ours". Paths are
/// relative to the file. Errors: bad_input naming file and key: an unknown measure or configuration key, a value that
/// the key does not take, a seed that is tuned on and tested, and in arms and axes a key that all arms share, for it
/// says which data, which contract or which evaluation.
protocol read_protocol(const std::filesystem::path& file);

/// Settings of an arm to be tried, as overrides: `tuning.trials` of all combinations of its axes, no two the same, the
/// same for the same draw; combinations of equal axes are the same for every arm. One that sets nothing where nothing
/// is tuned.
std::vector<arm_setting> list_trials(const arm& which, const protocol& of);

// Cells. First the trials on other data, then every arm with what was chosen for it.

struct protocol_plan {
    protocol how;
    grid what;
    std::vector<cell> trials;  ///< numbered among themselves, as tests are, whether these can be run yet or not
    resolver resolve;

    /// Of all arms, ε and seeds.
    std::size_t tests() const { return how.arms.size() * how.epsilons.size() * how.seeds.size(); }
};

/// Errors: bad_input for a base that is not sound or lacks what the measure needs, for tuning on the data of the test,
/// and naming the cell whose configuration is refused.
protocol_plan plan_protocol(protocol how, const resolver& resolve);

/// Of every ε and arm, in the protocol's order.
std::vector<tuned_arm> tune(const protocol_plan& plan, const std::vector<measured>& cells);

/// The cells of the test, for the arms and ε that are ready. A setting that is chosen later, as when a trial that
/// failed is done again, makes other cells.
std::vector<cell> test_cells(const protocol_plan& plan, const std::vector<tuned_arm>& tuned);

// Results. What a protocol found, and its files protocol.json, protocol.csv, protocol.html.

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
    std::vector<measured> cells;   ///< trials, then tests
    std::vector<arm_result> arms;  ///< ε by ε, in the protocol's order
    std::vector<duel> duels;
    std::vector<pace>
        paces;  ///< of each ε that is complete: ours, then the best other arm; none where no curve is known
    std::set<std::string> versions;  ///< of rldp that ran the cells
    expense cost;
    std::string command;
};

protocol_report make_report(const protocol_plan& plan, std::vector<measured> cells, const std::string& command);

std::string protocol_json(const protocol_report& report);
std::string protocol_csv(const protocol_report& report);
std::string protocol_html(const protocol_report& report);
/// For a terminal.
std::string protocol_text(const protocol_report& report);

experiment make_experiment(const protocol_plan& plan);

}  // namespace rldp::eval
