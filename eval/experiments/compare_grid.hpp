#pragma once
// What `rldp compare` puts side by side, and the cells that it runs for that.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/arms.hpp"
#include "eval/experiments/experiment.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

// Methods: what can be put side by side, as arms of the base configuration.

/// Every method, in the order in which tables show them.
const std::vector<arm>& compared_methods();

/// A comma list of names and of the words `all` (baselines, rldp, rldp_as_published) and `controls`; each method once,
/// in the order of compared_methods(). Errors: bad_input for an empty list, an unknown name, a word twice.
std::vector<arm> methods_from(const std::string& list);

// Cells. Every method at every ε and seed at the base's learning rate (stage common); with --tune-lr also trials on
// made-up data at each rate (tuning), then each method at its own best rate (tuned). A cell's setting is its rate's
// place among the rates; a common one has none.

/// As on the command line.
struct compare_options {
    std::string methods = "all", epsilons = "0.5,2,4,5,8", seeds = "0,1,2";
    std::string tune_lr;  ///< empty: no tuning
    std::string tune_seeds = "100";
    std::optional<std::int64_t> tune_records;
};

struct compare_plan {
    grid what;
    std::vector<arm> methods;
    std::vector<double> epsilons, rates;  ///< rates: of --tune-lr, empty without
    std::vector<std::int64_t> seeds, tune_seeds;
    double base_lr = 0;
    std::int64_t tuning_records = 0;   ///< made-up records of a trial
    bool made_up = false;              ///< the base's own data are made up: no one's budget is spent
    std::vector<cell> common, trials;  ///< tuned ones need the trials' results

    bool tunes() const { return !rates.empty(); }
    /// The learning rate of a cell.
    double find_rate(const cell& of) const { return of.setting ? rates.at(*of.setting) : base_lr; }
};

/// Records that a rule of thumb gives tuning where the real run's population is not declared.
inline constexpr std::int64_t default_tuning_records = 6000;

/// Errors: bad_input for a list that is malformed, a base that is not sound, and a cell that config::load refuses.
compare_plan plan_compare(const compare_options& given, const resolver& resolve);

/// Each method's best rate by mean end perplexity; of no setting without tuning.
std::vector<tuned_arm> tune(const compare_plan& plan, const std::vector<measured>& cells);

/// The cells at the rates chosen. Where that is the base's own rate, the common cell is that cell already.
std::vector<cell> tuned_cells(const compare_plan& plan, const std::vector<tuned_arm>& tuned);

experiment make_experiment(const compare_plan& plan);

}  // namespace rldp::eval
