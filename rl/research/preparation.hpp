#pragma once
// Preparation on tasks that are made up whole, from families to a policy that has passed its gate or not.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rl/prepared/prepared_policy.hpp"
#include "rl/research/families.hpp"
#include "rl/research/refinement.hpp"
#include "rl/research/search.hpp"

namespace rldp::rl {

enum class task_kind { quadratics, bilinear };  ///< families A and B

struct preparation_config {
    task_kind kind = task_kind::quadratics;
    std::vector<double> start = {0, 0, 0};  ///< a schedule's numbers, where its search begins
    rule begin;                             ///< likewise
    std::vector<std::string> held_out;      ///< families by name, or by a trait in it: the gate's alone
    double offset = 8;                      ///< of rates, either way
    bool probed = true;                     ///< whether runs have public records to look at
    std::size_t tasks = 256;                ///< to prepare on
    std::size_t validation_tasks = 128, gate_tasks = 256;
    std::size_t gate_episodes = 2;  ///< of a task
    search_config search;  ///< of one search; the schedule has two, one on from the other, whatever else is searched
                           ///< begins where the first ended
    refinement_config refinement;
    std::uint64_t seed = 1;  ///< whatever `search` and `refinement` have, as with jobs
    int jobs = 1;
    bool ablations = false;  ///< what the rule's gain is made of: five searches more
};

/// All on tasks of held-out families with noise that no search has seen, against the best schedule of as many episodes
/// as the rule took.
struct gate_figures {
    paired hindsight;           ///< the best schedule of each task
    paired open_loop_schedule;  ///< time alone
    paired rule;
    paired policy;    ///< the rule and its residual
    paired feedback;  ///< the policy against the timetable: what looking is worth
    bool passed() const { return policy.least_gain() > 0 && feedback.least_gain() > 0; }
};

struct preparation {
    prepared_policy policy;
    gate_figures gate;
    std::vector<ablation> ablations;  ///< where asked for
};

/// `said` hears of each stage as it begins. Errors: bad_input where `held_out` names no family or leaves none.
preparation train_policy(const preparation_config& config, const std::function<void(const std::string&)>& said);

}  // namespace rldp::rl
