#pragma once
// What anyone who watches a run sees: averages of released values since the last tick, at most one tick a second.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rldp::monitor {

struct telemetry {
    std::string run;    ///< its name
    std::string state;  ///< starting | running | stopping | done | budget exhausted | interrupted | failed
    std::int64_t step = 0, steps = 0;  ///< done and planned
    double loss = 0;                   ///< mean token loss as released, nats; NaN where none was
    double noise_multiplier = 0;
    double epsilon_spent = 0;        ///< of the steps up to `progress_step`, no guarantee; NaN before the first price
    std::int64_t progress_step = 0;  ///< 0: nothing has been priced yet
    double epsilon_guaranteed = 0, epsilon_budget = 0;
    std::int64_t evaluated_step = 0;
    double perplexity = 0;  ///< of the last evaluation; NaN before the first
    /// Where that lies with 95 %, of a look; else NaN.
    double perplexity_low = std::numeric_limits<double>::quiet_NaN(), perplexity_high = perplexity_low;
    std::vector<double> radii;
};

/// Whether nothing comes after it.
inline bool is_over(const telemetry& seen) {
    return seen.state != "starting" && seen.state != "running" && seen.state != "stopping";
}

}  // namespace rldp::monitor
