#pragma once
// Preparation on noisy quadratics, from families to a policy that has passed its gate or not.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rl/prepared/prepared_policy.hpp"
#include "rl/research/families.hpp"
#include "rl/research/refinement.hpp"
#include "rl/research/search.hpp"

namespace rldp::rl {

struct preparation_config {
    std::vector<double> start = std::vector<double>(schedule::count);  ///< a schedule's point, where its search begins
    rule begin = {{0.5, 0.3, 0, 1.5}};                                 ///< likewise
    std::vector<std::string> held_out;  ///< families by name, or by a trait in it: the gate's alone
    double offset = 16;                 ///< of rates, either way
    std::size_t tasks = 256;            ///< to prepare on
    std::size_t validation_tasks = 128, gate_tasks = 256;
    std::size_t gate_episodes = 2;  ///< of a task
    search_config search;  ///< of one search; the schedule has two, one on from the other, whatever else is searched
                           ///< begins where the first ended
    refinement_config refinement;
    std::uint64_t seed = 1;  ///< whatever `search` and `refinement` have, as with jobs
    int jobs = 1;
};

/// All on tasks of held-out families with noise that no search has seen, against the best schedule of as many episodes
/// as the rule took.
struct gate_figures {
    paired hindsight;  ///< the best schedule of each task
    paired by_clock;   ///< a timetable of equal search: time alone
    paired rule;
    paired policy;    ///< the rule and its residual
    paired feedback;  ///< the policy against the timetable: what looking is worth
    paired shuffled;  ///< the policy, shown another task's releases
    bool passed() const { return policy.least_gain() > 0 && feedback.least_gain() > 0; }
};

struct preparation {
    prepared_policy policy;
    gate_figures gate;
};

/// `said` hears of each stage as it begins. Errors: bad_input where `held_out` names no family or leaves none.
preparation train_policy(const preparation_config& config, const std::function<void(const std::string&)>& said);

}  // namespace rldp::rl
