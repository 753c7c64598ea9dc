#pragma once
// From made-up tasks to a policy file: family A, then B, then C, then the gate on held-out families of C.
#include <filesystem>
#include <functional>
#include <string>

#include "eval/preparation/preparation_file.hpp"
#include "eval/preparation/preparation_page.hpp"
#include "rl/prepare/practice.hpp"
#include "rl/prepare/prepared_policy.hpp"

namespace rldp::eval {

struct preparation_place {
    std::filesystem::path work;  ///< what is done there already counts; the controls schedule.safetensors and
                                 ///< clock.safetensors of equal search stay there
    int jobs = 1;
    std::function<void(const std::string&)> said;  ///< hears of each stage and generation
    std::function<void()> rest = [] {};            ///< called where work may stop; may throw
};

/// All on tasks of held-out families, against the best schedule of as many runs, in log of the nats per token that
/// remain: negative is better.
struct run_gate {
    rl::paired hindsight;  ///< that schedule at the best of five rates, for each of the first 32 tasks: what a rate can
                           ///< win at most
    rl::paired clock;      ///< a rate that moves by the clock alone, of as many runs
    rl::paired first;      ///< the policy of family B, as it was
    rl::paired policy;     ///< what is deployed if the gate is passed
    rl::paired feedback;   ///< that against the clock
    bool passed() const { return policy.least_gain() > 0 && feedback.least_gain() > 0; }
};

struct prepared_controller_file {
    rl::prepared_policy policy;
    run_gate gate;
    std::vector<rate_path> paths;  ///< what the policy did on six tasks of held-out families
};

/// Errors: as search_on_runs().
prepared_controller_file prepare_controller(const preparation_file& what, const preparation_place& where);

}  // namespace rldp::eval
