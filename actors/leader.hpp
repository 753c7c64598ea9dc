#pragma once
// In front of rank 0's gradient actor where there are more ranks: it tells them each step before it begins.
#include <memory>

#include "actors/actors.hpp"
#include "run/ranks/team.hpp"

namespace rldp::actors {

struct leader_state {
    static constexpr const char* name = "leader";
};

gradient_actor::behavior_type make_leader(gradient_actor::stateful_pointer<leader_state> self,
                                          std::shared_ptr<ranks::team> team, gradient_actor gradient);

}  // namespace rldp::actors
