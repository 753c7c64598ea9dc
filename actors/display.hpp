#pragma once
// Displays: they subscribe to a hub, show what comes, and acknowledge it.
#include <cstdint>
#include <functional>
#include <string>

#include "actors/actors.hpp"

namespace rldp::actors {

/// Registers what crosses between processes; every process that publishes or connects does so.
void add_wire_types(caf::actor_system_config& config);

/// Shows one telemetry; slow ones only miss values, they never pile up.
using show = std::function<void(const telemetry&)>;

struct display_state {
    display_state() {
    }  // no aggregate: CAF would initialise the first member of one from the actor itself (C++20, P0960)
    static constexpr const char* name = "display";
    publication_actor source;
    bool connected = false;
};

/// Watches a hub of this process.
display_actor::behavior_type local_display(display_actor::stateful_pointer<display_state> self,
                                           publication_actor source, show how);

/// Watches the hub published at host:port; waits for one, and looks for the next when a run ends or falls silent.
/// `say` gets a sentence when the connection changes.
display_actor::behavior_type remote_display(display_actor::stateful_pointer<display_state> self, std::string host,
                                            std::uint16_t port, show how, std::function<void(const std::string&)> say);

}  // namespace rldp::actors
