#pragma once
// CMA-ES on real runs, generation by generation, resumable.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eval/preparation/real_runs.hpp"

namespace rldp::eval {

struct run_search {
    std::filesystem::path out;  ///< of this search
    int jobs = 1;
    std::uint64_t seed = 1;
    double deviation = 0.2;  ///< where the search begins
    /// Told after each generation: which, and the mean loss of its points.
    std::function<void(std::size_t generation, double mean)> told;
};

struct searched {
    std::vector<double> centre;  ///< that the search ends at
    std::vector<double> means;   ///< [generations] the mean loss of its points
};

/// Each generation plays its points on other tasks, all of them on the same. What
/// an earlier call has done in `out` counts. Errors: as compute_losses(); bad_input for a state there that is damaged or of
/// another search.
searched search_on_runs(const std::vector<double>& start,
                        const std::function<rl::prepared_policy(const std::vector<double>&)>& policy_at,
                        const run_preparation& terms, const run_search& how);

}  // namespace rldp::eval
