#pragma once
// The supervisor wires the actors, watches all of them, and turns the first failure into one message and a clean,
// resumable end.
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "actors/actors.hpp"
#include "run/session.hpp"

namespace rldp::actors {

struct supervisor_state {
    static constexpr const char* name = "supervisor";
    std::vector<caf::actor> watched;  ///< in wiring order
    trainer_actor trainer;
    evaluator_actor evaluator;
    hub_actor hub;
    bool over = false;
    std::stop_source stop;
    caf::typed_response_promise<outcome> promise;
};

/// Spawns the pipeline for `run` on threads of its own and answers when it is over. `hub` is told, and outlives the
/// run.
supervisor_actor::behavior_type make_supervisor(supervisor_actor::stateful_pointer<supervisor_state> self,
                                                opened_run run, hub_actor hub);

}  // namespace rldp::actors
