#pragma once
// A comparison as it is written: files, sentences, figures.
#include <cstdint>
#include <string>
#include <vector>

#include "eval/experiments/comparison.hpp"
#include "eval/experiments/experiment.hpp"
#include "eval/report/page.hpp"

namespace rldp::eval {

// Files. compare.json, compare.csv and compare.html, and what the command prints.

/// Everything that a comparison's files are made of.
struct compare_report {
    compare_plan plan;
    std::vector<measured> cells;  ///< common, trials, tuned
    comparison at_common;
    std::vector<tuned_arm> tuned;
    comparison at_own;  ///< without tuning: empty
    expense cost;
    std::string command;  ///< that repeats it, or goes on with it
};

/// The numbers of `cells`, which it takes.
compare_report make_report(const compare_plan& plan, std::vector<measured> cells, const std::string& command);

std::string compare_json(const compare_report& report);
std::string compare_csv(const compare_report& report);
std::string compare_html(const compare_report& report);
/// For a terminal.
std::string compare_text(const compare_report& report);
report_files to_files(const compare_report& report);

// Words. A comparison's numbers in words, for the page and the terminal alike. All of it is plain text.

/// "4.213 ± 0.021 (3)"; without a value what there is instead: "–", "not run", "failed".
std::string in_words(const score& one, std::size_t seeds);
/// "0, 1, 2"; "–" where there are none.
std::string in_words(const std::vector<std::int64_t>& seeds);

/// "RLDP is as good … after 31 % of the steps on average …"; empty where there is nothing to say it of.
std::string speed_sentence(const comparison& of);
/// How the rates were chosen, and what that does not say.
std::vector<std::string> tuning_sentences(const compare_report& report);
/// What holds of the numbers and what does not.
std::vector<std::string> caveats(const compare_report& report);

// Figures. Those of a comparison.

/// A method's colour, the same in every figure: #rrggbb.
std::string find_colour(const std::string& method);

/// End perplexity against ε, then utility curves for each ε. `prefix`: letters, so that ids are unique on the page.
std::vector<captioned> utility_figures(const compare_plan& plan, const comparison& numbers,
                                       const std::vector<const measured*>& cells, const std::string& prefix);
/// Mean clip radius and noise multiplier over steps, for each ε.
std::vector<captioned> trace_figures(const compare_plan& plan, const std::vector<const measured*>& cells);

/// Over the cells that are done: the mean at each step that all of them have a value for.
curve mean_over_seeds(const std::vector<const measured*>& cells,
                      const std::function<std::optional<double>(const metrics_line&)>& value);

}  // namespace rldp::eval
