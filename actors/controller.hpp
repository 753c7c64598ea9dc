#pragma once
// The controller answers with an action at once and learns afterwards, on its own thread, while the next steps go on.
// Its mailbox keeps the order decide, learn, decide: the result is that of learning in line, however long learning
// takes.
#include <optional>

#include "actors/actors.hpp"
#include "run/train/steering.hpp"

namespace rldp::actors {

struct controller_state {
    static constexpr const char* name = "controller";
    std::shared_ptr<rl::controller> library;
};

controller_actor::behavior_type make_controller(controller_actor::stateful_pointer<controller_state> self,
                                                std::shared_ptr<rl::controller> library);

}  // namespace rldp::actors
