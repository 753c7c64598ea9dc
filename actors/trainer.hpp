#pragma once
// The trainer runs the steps and is the only one that writes weights. Per step: grant, compute, release, AdamW; nothing
// else is waited for but the controller's action at the end of a block.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/actors.hpp"
#include "privacy/keys/seal.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/rounding.hpp"
#include "run/train/training.hpp"

namespace rldp::actors {

struct trainer_wiring {
    accountant_actor accountant;
    gradient_actor gradient;
    sanitizer_actor sanitizer;
    controller_actor controller;  ///< invalid for methods without one
    evaluator_actor evaluator;
    hub_actor hub;
};

struct trainer_schedule {
    std::filesystem::path checkpoint;
    std::string belongs_to;
    privacy::file_seal seal;
    privacy::ledger_mark charged;  ///< the ledger's end before the first step
    rounding_watch watch = {};     ///< empty: there is nothing to watch
    publication held_out = publication::raw;
};

struct trainer_state {
    static constexpr const char* name = "trainer";
    std::shared_ptr<step_machine> steps;
    trainer_wiring wiring;
    std::optional<trainer_schedule> schedule;  ///< from the start
    bool stopping = false;
    /// With the evaluator. A checkpoint holds it where it is to be exact, for then it may be stopped and done again; a
    /// look is never redone.
    std::optional<snapshot> evaluating;
    std::function<void()> waiting;  ///< goes on once it is back
    caf::typed_response_promise<outcome> promise;
};

trainer_actor::behavior_type make_trainer(trainer_actor::stateful_pointer<trainer_state> self,
                                          std::shared_ptr<step_machine> steps, trainer_wiring wiring,
                                          trainer_schedule schedule);

}  // namespace rldp::actors
