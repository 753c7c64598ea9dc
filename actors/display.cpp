#include "actors/display.hpp"

#include <caf/io/all.hpp>
#include <chrono>

#include "actors/failure.hpp"

namespace rldp::actors {

namespace {

using self_pointer = display_actor::stateful_pointer<display_state>;
constexpr std::chrono::seconds retry_interval{1};
constexpr std::chrono::seconds subscribe_timeout{5};

void show_and_ack(self_pointer self, const show& how, const telemetry& seen) {
    how(seen);
    self->send(self->state.source, ack_atom::value);
}

}  // namespace

void add_wire_types(caf::actor_system_config& config) {
    config.add_message_type<wire_double>("rldp::wire_double");
    config.add_message_type<telemetry>("rldp::telemetry");
    config.add_message_type<display_actor>("rldp::display_actor");
}

display_actor::behavior_type local_display(self_pointer self, publication_actor source, show how) {
    fail_publicly(self);
    self->state.source = source;
    self->request(source, caf::infinite, subscribe_atom::value, display_actor{self}).then([=](const telemetry& first) {
        show_and_ack(self, how, first);
    });
    return {
        [=](const telemetry& seen) { show_and_ack(self, how, seen); },
        [](retry_atom) {},
    };
}

display_actor::behavior_type remote_display(self_pointer self, std::string host, std::uint16_t port, show how,
                                            std::function<void(const std::string&)> say) {
    fail_publicly(self);
    const auto lost = [self, say](const std::string& why) {
        if (self->state.connected) say(why);
        self->state.connected = false;
        self->state.source = nullptr;
        self->delayed_send(self, retry_interval, retry_atom::value);
    };
    self->set_down_handler([self, lost](const caf::down_msg& gone) {
        if (self->state.source && gone.source == self->state.source.address())
            lost("the run ended; waiting for another");
    });
    self->send(self, retry_atom::value);
    return {
        [=](const telemetry& seen) {
            if (self->state.source) show_and_ack(self, how, seen);
        },
        [=](retry_atom) {
            const auto manager = self->system().middleman().actor_handle();
            self->request(manager, caf::infinite, caf::connect_atom::value, host, port)
                .then(
                    [=](const caf::node_id&, const caf::strong_actor_ptr& hub, const std::set<std::string>&) {
                        if (!hub) return lost("nothing is published there");
                        self->state.source = caf::actor_cast<publication_actor>(hub);
                        self->monitor(self->state.source);
                        self->request(self->state.source, subscribe_timeout, subscribe_atom::value, display_actor{self})
                            .then(
                                [=](const telemetry& first) {
                                    self->state.connected = true;
                                    say("attached to run " + first.run);
                                    show_and_ack(self, how, first);
                                },
                                [=](const caf::error&) { lost("the run does not answer; waiting"); });
                    },
                    [=](const caf::error&) { lost("the connection was lost; waiting"); });
        },
    };
}

}  // namespace rldp::actors
