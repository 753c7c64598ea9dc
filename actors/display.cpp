#include "actors/display.hpp"

#include "actors/failure.hpp"

namespace rldp::actors {

using self_pointer = display_actor::stateful_pointer<display_state>;

display_actor::behavior_type local_display(self_pointer self, hub_actor source, show how) {
    fail_publicly(self);
    const auto show_and_ack = [=](const telemetry& seen) {
        how(seen);
        self->send(source, ack_atom::value);
    };
    self->request(source, caf::infinite, subscribe_atom::value, display_actor{self}).then(show_and_ack);
    return {show_and_ack};
}

display_actor::behavior_type fed_display(self_pointer self, show how) {
    fail_publicly(self);
    return {[=](const telemetry& seen) { how(seen); }};
}

}  // namespace rldp::actors
