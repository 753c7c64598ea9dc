#pragma once
// Arms: the sides of a comparison, and how a setting is chosen for each.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/grid.hpp"
#include "eval/experiments/results.hpp"

namespace rldp::eval {

/// Only baselines compete for the place of the best baseline, and only `ours` is held against it.
enum class role {
    baseline,  ///< another method under the same contract
    ours,      ///< rldp as the base configuration has it
    control,   ///< rldp with a part of it switched off or exchanged
    unsound,   ///< no guarantee: shown beside the others, never compared with them
};
/// As the files and tables write it: baseline, ours, control, unsound.
std::string name_of(role part);

/// A method with everything that it is given.
struct arm {
    std::string name, sentence;
    std::vector<std::string> set;  ///< "dotted.key=json" on the base
    std::vector<axis> tuned = {};  ///< keys that are chosen for it, with the values to choose from
    role part = role::baseline;
};

/// "dotted.key=json" of each key that is chosen.
using arm_setting = std::vector<std::string>;

/// How settings are chosen: each is tried over the tuning seeds, and the best mean wins.
struct tuning_rule {
    /// Those that are tried; a single one that sets nothing where nothing is tuned.
    std::function<std::vector<arm_setting>(const arm&)> settings;
    std::function<std::optional<double>(const run_summary&)> value;
    std::function<bool(double one, double other)> prefers;
};

/// What tuning came to for one arm and ε.
struct tuned_arm {
    std::string arm;
    double epsilon = 0;
    std::size_t settings = 0;  ///< that are tried; 0: nothing is tuned
    std::size_t ended = 0;     ///< of these, those whose trials have all ended
    std::size_t failed = 0;    ///< of these, those of which a trial failed, or ended in no finite number
    std::optional<std::size_t> chosen =
        {};                    ///< the best mean, the first in a tie; absent until all have ended, or if all failed
    arm_setting setting = {};  ///< which that is
    std::optional<double> value = {};   ///< its mean over the tuning seeds
    bool at_edge = false;               ///< of one of its axes of numbers: beyond it may lie a better one
    std::vector<statistic> tried = {};  ///< of each setting, over the trials that gave a finite number

    bool ready() const { return settings == 0 || chosen; }
};

/// Of every ε and arm, in their order. Cells that are no trials don't count.
std::vector<tuned_arm> tune(const std::vector<arm>& arms, const std::vector<double>& epsilons, const tuning_rule& how,
                            const std::vector<measured>& cells);

}  // namespace rldp::eval
