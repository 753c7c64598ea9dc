#pragma once
// The cells of a protocol: first the trials on other data, then every arm with what was chosen for it.
#include <optional>
#include <string>
#include <vector>

#include "eval/grid/protocol/protocol.hpp"

namespace rldp::eval {

struct protocol_cell {
    cell run;
    std::string arm;
    double epsilon = 0;
    std::int64_t seed = 0;
    bool tuning = false;  ///< a trial, else a test
    std::optional<std::size_t>
        setting;             ///< number of the setting that is tried, or was chosen; absent where none is tuned
    std::size_t number = 0;  ///< among all trials or all tests, whether these can be run yet or not
};

struct protocol_plan {
    protocol how;
    grid what;
    std::vector<protocol_cell> trials;
    resolver resolve;

    /// Of all arms, ε and seeds.
    std::size_t tests() const { return how.arms.size() * how.epsilons.size() * how.seeds.size(); }
};

/// Errors: bad_input for a base that is not sound or lacks what the measure needs, for tuning on the data of the test,
/// and naming the cell whose configuration is refused.
protocol_plan plan_protocol(protocol how, const resolver& resolve);

struct measured_cell {
    protocol_cell where;
    cell_result result;
};

/// What tuning came to for one arm and ε.
struct tuned_arm {
    std::string arm;
    double epsilon = 0;
    std::size_t settings = 0;  ///< that are tried; 0: nothing is tuned
    std::size_t ended = 0;     ///< of these, those whose trials have all ended
    std::size_t failed = 0;    ///< of these, those of which a trial failed, or ended in no finite number
    std::optional<std::size_t> chosen =
        {};  ///< the best mean, the first in a tie; absent until all have ended, or if all failed
    std::vector<std::string> setting;  ///< which that is
    std::optional<double> value = {};  ///< its mean over the tuning seeds
    bool at_edge = false;              ///< of one of its axes of numbers

    bool ready() const { return settings == 0 || chosen; }
};

/// Of every arm and ε, in the protocol's order.
std::vector<tuned_arm> tune(const protocol_plan& plan, const std::vector<measured_cell>& trials);

/// The cells of the test, for the arms and ε that are ready. A setting that is chosen later, as when a trial that
/// failed is done again, makes other cells.
std::vector<protocol_cell> test_cells(const protocol_plan& plan, const std::vector<tuned_arm>& tuned);

}  // namespace rldp::eval
