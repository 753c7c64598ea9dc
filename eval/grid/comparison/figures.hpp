#pragma once
// The figures of a comparison.
#include <string>
#include <vector>

#include "eval/grid/comparison/comparison.hpp"
#include "eval/report/figures.hpp"

namespace rldp::eval {

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
