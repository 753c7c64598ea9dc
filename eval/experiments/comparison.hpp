#pragma once
// What a grid of runs cost, and what a comparison says in numbers.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/compare_grid.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

// Expense. What a grid of runs cost.

/// Over the cells that have begun.
struct expense {
    double epsilon = 0, delta = 0;   ///< summed over the cells of real data with a bound (basic composition)
    std::size_t bounded = 0;         ///< those cells
    std::size_t unbounded = 0;       ///< cells that read real data without any bound
    std::size_t made_up = 0;         ///< cells of made-up data, whatever they promise
    std::vector<data_split> splits;  ///< of the cells of real data, each once
    bool raw = false;                ///< whether one of them published exact figures of held-out units

    /// The ledger's first line commits to the whole run, whether it has ended or not.
    void add(const cell& which, const cell_result& result);

    /// Why `epsilon` and `delta` bound nothing; empty where they do. They need a bound of every cell, one kind of unit,
    /// and where exact figures were published one split: a unit that one cell trains on may be in another's held-out
    /// perplexity, which no bound covers (docs/privacy.md §7).
    std::string why_no_sum() const;
};

std::vector<std::string> expense_sentences(const expense& cost);

/// {"epsilon_sum", "delta_sum", "no_sum_because", counts of cells}; sums are null where there is none.
nlohmann::ordered_json to_json(const expense& cost);

// Comparison. Its numbers, from the cells' results alone.

/// Mean and deviation (n−1) of n values; both absent without a value, the deviation also with one.
struct statistic {
    std::size_t n = 0;
    std::optional<double> mean, deviation;
};
statistic compute_statistic(const std::vector<double>& values);

struct measured {
    compare_cell where;
    cell_result result;
};

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

/// Over the cells at one learning rate each: the common ones, or those of tuned().
comparison compare(const compare_plan& plan, const std::vector<const measured*>& cells);

/// Mean end perplexity of a method at each rate, over tuning's seeds.
struct tuning {
    std::string method;
    double epsilon = 0;
    std::vector<statistic> end;  ///< of each rate of the plan
    std::optional<double> best;  ///< lowest mean, the first in a tie; absent until every cell has ended
    bool at_edge = false;        ///< the best is the grid's first or last rate: a wider grid may be better
};
std::vector<tuning> tunings(const compare_plan& plan, const std::vector<measured>& cells);
std::vector<chosen_rate> chosen(const std::vector<tuning>& all);

/// Those of one method and ε.
std::vector<const measured*> cells_at(const std::vector<const measured*>& cells, const std::string& method,
                                      double epsilon);
std::vector<const measured*> common(const std::vector<measured>& cells);
/// The cells at each method's own rate: tuned ones, and common ones where the base's rate is the best.
std::vector<const measured*> tuned(const std::vector<measured>& cells, const std::vector<chosen_rate>& rates);

expense sum_expense(const std::vector<measured>& cells);

}  // namespace rldp::eval
