#pragma once
// Which figures the report shows, and what each of them says.
#include <string>
#include <vector>

#include "eval/report/figure.hpp"
#include "eval/report/report.hpp"

namespace rldp::eval {

struct captioned {
    figure drawing;       ///< without a point to show, the page says so instead
    std::string caption;  ///< HTML
    bool empty() const;
};

/// Evaluation perplexity, released loss, clip radii, noise multiplier, ε: over steps, always all five, in this order;
/// then the deck left, where the run has one.
std::vector<captioned> report_figures(const run_summary& summary, const std::vector<metrics_line>& metrics);

}  // namespace rldp::eval
