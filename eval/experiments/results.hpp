#pragma once
// What an experiment's files have in common: values over seeds, what the grid cost, cells as JSON, CSV and HTML. They
// are made to be passed on, so they see a cell_result and never a cell_secrets.
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

/// A cell with what it came to.
struct measured {
    cell where;
    cell_result result;
};

std::size_t count_done(const std::vector<measured>& cells);
/// Whether the draws and noise of one of them are known to others.
bool any_insecure(const std::vector<measured>& cells);

/// Mean and deviation (n−1) of n values; both absent without a value, the deviation also with one.
struct statistic {
    std::size_t n = 0;
    std::optional<double> mean, deviation;
};
statistic compute_statistic(const std::vector<double>& values);

// Words. All of it is plain text.

/// Four significant digits.
std::string short_number(double value);
/// "4.213 ± 0.021"; "–" without a value.
std::string in_words(const statistic& of);
/// "1 cell", "3 cells".
std::string plural(std::size_t count, const std::string& of);

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
    void add(const measured& one);

    /// Why `epsilon` and `delta` bound nothing; empty where they do. They need a bound of every cell, one kind of unit,
    /// and where exact figures were published one split: a unit that one cell trains on may be in another's held-out
    /// perplexity, which no bound covers (docs/privacy.md §7).
    std::string why_no_sum() const;
};
expense sum_expense(const std::vector<measured>& cells);

std::vector<std::string> expense_sentences(const expense& cost);
/// What choosing by held-out figures is worth, and what it costs.
std::string choosing_sentence(const expense& cost);

/// {"epsilon_sum", "delta_sum", "no_sum_because", counts of cells}; sums are null where there is none.
nlohmann::ordered_json to_json(const expense& cost);

// Files.

nlohmann::ordered_json to_json(const statistic& of);
nlohmann::ordered_json to_json(const std::optional<double>& value);  ///< null where absent
/// An array: each cell's id, what `more` says of it, its state, what is public of its summary, and its curve of
/// evaluations as [step, perplexity].
nlohmann::ordered_json to_json(const std::vector<measured>& cells,
                               const std::function<nlohmann::ordered_json(const cell&)>& more);
/// Indented; a command line may hold bytes that are not UTF-8.
std::string to_text(const nlohmann::ordered_json& document);

/// A column of the cells' table.
struct cell_column {
    std::string name;
    std::function<std::string(const measured&)> text;
};
/// Ids, these columns, and what every cell has: status, perplexities, ε's, steps. Fields are in quotes where they need
/// them.
std::string to_csv(const std::vector<measured>& cells, std::vector<cell_column> columns);

/// The page of an experiment: its own head and body, then what it says and what not, the cells that failed (and
/// nothing else of them), and the command that goes on with it.
struct experiment_page {
    std::string title, subtitle;  ///< plain text
    std::string body;             ///< HTML
    std::vector<std::string> sentences;
    std::string appendix = {};  ///< HTML
    std::string command;
};
std::string to_html(const experiment_page& what, const std::vector<measured>& cells);

}  // namespace rldp::eval
