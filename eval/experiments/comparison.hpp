#pragma once
// What a comparison says in numbers.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/arms.hpp"
#include "eval/experiments/compare_grid.hpp"
#include "eval/experiments/results.hpp"

namespace rldp::eval {

// Its numbers, from the cells' results alone.

/// A method at one ε, over seeds. Only cells that are done count.
struct score {
    std::string method;
    role part = role::baseline;
    double epsilon = 0;
    std::optional<double> lr;       ///< learning rate; absent where tuning has not chosen yet
    statistic end, best;            ///< held-out perplexity
    bool any_bound = false;         ///< whether epsilon_guaranteed is one: sound, and noise unknown to others
    double epsilon_guaranteed = 0;  ///< the largest over seeds
    std::map<std::string, double> by_accountant;  ///< ε spent, the largest over seeds
    std::map<std::string, bool> upper_bound;
    std::map<cell_state, std::size_t> cells;  ///< how many are in which state
    std::size_t exhausted = 0;                ///< done, but out of budget before the plan's end
};

/// RLDP beside the best baseline of one ε: the sound one of the lowest mean end perplexity, the first in a tie. All of
/// it is over the same seeds, else a method would look good by the seeds that it lacks.
struct standing {
    double epsilon = 0;
    std::vector<std::int64_t> seeds;      ///< those done by RLDP and every baseline, of the ones that have any
    std::optional<std::string> baseline;  ///< absent: none is done, or they have no seed in common
    statistic baseline_end, ours_end;
    std::optional<double> difference, ratio;  ///< of the means, ours − baseline and ours / baseline
};

/// How soon RLDP is as good as the best baseline at its end, for one ε and seed.
struct reach {
    double epsilon = 0;
    std::int64_t seed = 0;
    bool reached = false;
    double fraction = 1;  ///< of the planned steps, at the first evaluation that is as good; 1 where never
};

struct comparison {
    std::vector<score> scores;  ///< ε by ε, methods in their order
    std::vector<standing> standings;
    std::vector<reach> reaches;  ///< where RLDP's and the best baseline's cell of that seed are done
    std::optional<double> mean_fraction, median_fraction;

    std::size_t reached() const;
};

/// Over the cells at one learning rate each: the common ones, or those at each method's own.
comparison compare(const compare_plan& plan, const std::vector<const measured*>& cells);

/// Those of one method and ε.
std::vector<const measured*> cells_at(const std::vector<const measured*>& cells, const std::string& method,
                                      double epsilon);
/// At the base's rate.
std::vector<const measured*> common_cells(const std::vector<measured>& cells);
/// At each method's own rate, where one is chosen: tuned ones, and common ones where the base's rate is the best.
std::vector<const measured*> cells_at_own_rate(const compare_plan& plan, const std::vector<measured>& cells,
                                               const std::vector<tuned_arm>& tuned);

}  // namespace rldp::eval
