#pragma once
// What `rldp compare` puts side by side, and the cells that it runs for that.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/grid.hpp"

namespace rldp::eval {

// Methods. What can be put side by side: a name, what it stands for, and what it changes in the base configuration.

/// Only baselines compete for the place of the best baseline, and only `ours` is held against it.
enum class role {
    baseline,  ///< another method under the same contract
    ours,      ///< rldp as the base configuration has it
    control,   ///< rldp with a part of it switched off or exchanged
    unsound,   ///< no guarantee: shown beside the others, never compared with them
};

struct variant {
    std::string name;
    role part;
    std::string sentence;
    std::vector<std::string> overrides;  ///< "dotted.key=json"
};

/// Every variant, in the order in which tables show them.
const std::vector<variant>& compared_methods();

/// A comma list of names and of the words `all` (baselines, rldp, rldp_as_published) and `controls`; each variant once,
/// in the order of compared_methods(). Errors: bad_input for an empty list, an unknown name, a word twice.
std::vector<variant> methods_from(const std::string& list);

/// As the files and tables write it: baseline, ours, control, unsound.
std::string name_of(role part);

// Cells. Every method at every ε and seed at the base's learning rate (common); with --tune-lr also on made-up data at
// each rate (tuning), then at each method's own best rate (tuned).

enum class stage { common, tuning, tuned };

/// "common", "tuning", "tuned".
std::string name_of(stage which);

struct compare_cell {
    cell run;
    stage when = stage::common;
    std::string method;
    double epsilon = 0;
    std::int64_t seed = 0;
    double lr = 0;
    std::size_t number = 0;  ///< in the plan; a cell at its tuned rate has that of the one at the common rate
};

/// As on the command line.
struct compare_options {
    std::string methods = "all", epsilons = "0.5,2,4,5,8", seeds = "0,1,2";
    std::string tune_lr;  ///< empty: no tuning
    std::string tune_seeds = "100";
    std::optional<std::int64_t> tune_records;
};

struct compare_plan {
    grid what;
    std::vector<variant> methods;
    std::vector<double> epsilons, rates;  ///< rates: of --tune-lr, empty without
    std::vector<std::int64_t> seeds, tune_seeds;
    double base_lr = 0;
    std::int64_t tuning_records = 0;  ///< made-up records of a tuning cell
    bool made_up = false;             ///< the base's own data are made up: no one's budget is spent
    std::vector<compare_cell> cells;  ///< common and tuning; tuned ones need tuning's results

    bool tunes() const { return !rates.empty(); }
};

/// Records that a rule of thumb gives tuning where the real run's population is not declared.
inline constexpr std::int64_t default_tuning_records = 6000;

/// Errors: bad_input for a list that is malformed, a base that is not sound, and a cell that config::load refuses.
compare_plan plan_compare(const compare_options& given, const resolver& resolve);

/// The rate that tuning chose for a method and an ε.
struct chosen_rate {
    std::string method;
    double epsilon = 0, lr = 0;
};

/// The cells at the rates chosen. Where that is the base's own rate, the common cell is that cell already.
std::vector<compare_cell> tuned_cells(const compare_plan& plan, const std::vector<chosen_rate>& rates);

}  // namespace rldp::eval
