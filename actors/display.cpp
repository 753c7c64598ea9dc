#include "actors/display.hpp"

#include "actors/failure.hpp"

namespace rldp::actors {

using display_pointer = display_actor::stateful_pointer<display_state>;

display_actor::behavior_type make_display(display_pointer self, hub_actor source, show shown) {
    fail_publicly(self);
    const auto show_and_ack = [=](const run_view& seen) {
        shown(seen);
        self->send(source, ack_atom::value);
    };
    self->request(source, caf::infinite, subscribe_atom::value, display_actor{self}).then(show_and_ack);
    return {show_and_ack};
}

display_actor::behavior_type make_fed_display(display_pointer self, show shown) {
    fail_publicly(self);
    return {[=](const run_view& seen) { shown(seen); }};
}

}  // namespace rldp::actors
