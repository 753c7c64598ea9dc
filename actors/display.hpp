#pragma once
// Displays: they show what comes, of a run in this process or, fed by a stream, in another.
#include <functional>

#include "actors/actors.hpp"

namespace rldp::actors {

/// Shows a view of a run; slow ones only miss values, they never pile up.
using show = std::function<void(const run_view&)>;

struct display_state {
    static constexpr const char* name = "display";
};

/// Subscribes to a hub and acknowledges what it has shown.
display_actor::behavior_type make_display(display_actor::stateful_pointer<display_state> self, hub_actor source,
                                          show how);

/// Shows what it is asked to; the answer comes once it is shown.
display_actor::behavior_type make_fed_display(display_actor::stateful_pointer<display_state> self, show how);

}  // namespace rldp::actors
