#pragma once
// What a grid of runs cost.
#include <string>
#include <vector>

#include "eval/grid/cell_files.hpp"
#include "eval/grid/grid.hpp"

namespace rldp::eval {

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

}  // namespace rldp::eval
