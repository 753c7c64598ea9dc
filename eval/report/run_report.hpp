#pragma once
// What to do after a run, by the rules of docs/choosing.md and from public values alone.
#include <string>
#include <vector>

#include "run/artifacts/metrics.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {

/// One sentence: what of more steps, a larger model, more adapters and more units is likeliest to help, or that nothing
/// is known that would. `config_json`: public/config.json.
std::string advise_next(const run_summary& summary, const std::vector<metrics_line>& metrics,
                        const std::string& config_json);

}  // namespace rldp::eval
