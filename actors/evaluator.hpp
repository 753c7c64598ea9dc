#pragma once
// The evaluator reads held-out units, which are outside the contract; what it finds is shown and steers nothing.
#include <memory>
#include <stop_token>

#include "actors/actors.hpp"
#include "actors/run/inputs.hpp"
#include "eval/held_out.hpp"

namespace rldp::actors {

struct evaluator_state {
    static constexpr const char* name = "evaluator";
    evaluations seen;
};

/// `seen_before`: what evaluations of a resumed run found. Once a stop is asked for, an evaluation ends without a
/// result.
evaluator_actor::behavior_type make_evaluator(evaluator_actor::stateful_pointer<evaluator_state> self, run_model model,
                                              std::shared_ptr<const eval::held_out> records, std::int64_t batch,
                                              const hub_actor& hub, evaluations seen_before, std::stop_token stop);

}  // namespace rldp::actors
