#pragma once
// What a grid of runs cost.
#include <string>
#include <vector>

#include "eval/cell_files.hpp"

namespace rldp::eval {

struct expense {
    double epsilon = 0, delta = 0;  ///< summed over the cells with a bound that read the data (basic composition)
    std::size_t bounded = 0;        ///< those cells
    std::size_t unbounded = 0;      ///< cells that read the data without any bound
    double seconds = 0;             ///< wall time

    /// The ledger's first line commits to the whole run, whether it has ended or not.
    void add(const cell_result& cell);
};

/// `what`: "comparison" or "sweep"; `made_up`: whether its data are.
std::vector<std::string> expense_sentences(const expense& cost, const std::string& what, bool made_up);

/// "12.3 min", "2.1 h".
std::string duration_in_words(double seconds);

}  // namespace rldp::eval
