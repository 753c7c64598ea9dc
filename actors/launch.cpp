#include "actors/launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <caf/io/all.hpp>
#include <charconv>

#include "actors/failure.hpp"
#include "actors/finish.hpp"
#include "actors/hub.hpp"
#include "actors/signals.hpp"
#include "actors/supervisor.hpp"
#include "actors/threads.hpp"

namespace rldp::actors {

namespace {

void publish(caf::actor_system& system, const hub_actor& hub, const std::string& address) {
    const auto [host, port] = loopback_endpoint(address);
    const auto bound = system.middleman().publish(system.spawn(publication, hub), port, host.c_str(), true);
    if (!bound)
        refuse(fmt::format("monitor.address: {} can't be used ({}); is another run there? choose another port", address,
                           system.render(bound.error())));
}

}  // namespace

endpoint loopback_endpoint(const std::string& address) {
    const auto colon = address.rfind(':');
    const auto host = address.substr(0, colon);
    const auto digits = colon == std::string::npos ? std::string_view{} : std::string_view(address).substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || port == 0)
        refuse("monitor.address: '" + address +
               "' is not HOST:PORT with a port of 1 to 65535; for example 127.0.0.1:4242");
    if (host != "127.0.0.1" && host != "localhost" && host != "[::1]")
        refuse("monitor.address: " + host +
               " is not this machine's loopback; monitoring over a network needs monitor.tls, which "
               "this version does not have; use 127.0.0.1");
    return {host == "[::1]" ? "::1" : host, port};
}

eval::run_summary launch(const std::function<opened_run()>& open, const launch_options& options) {
    share_heap();
    signal_watch signals;
    system_config configuration;
    add_wire_types(configuration);
    if (options.monitor) configuration.load<caf::io::middleman>();
    caf::actor_system system(configuration);
    const caf::scoped_actor self(system);
    const auto hub_ = system.spawn(hub, options.name);
    const auto display = options.display
                             ? system.spawn<caf::detached>(local_display, publication_actor(hub_), options.display)
                             : display_actor{};
    // Whatever happens from here on, these two end with this function: the system's destructor waits for them.
    const std::shared_ptr<void> ending_(nullptr, [&](void*) {
        if (display) self->send_exit(display, caf::exit_reason::user_shutdown);
        self->send_exit(hub_, caf::exit_reason::user_shutdown);
    });
    if (options.monitor) publish(system, hub_, *options.monitor);

    auto opened = on_passing_thread(all_threads(), open);
    if (options.on_plan) options.on_plan(opened.open.plan);
    const auto run = std::make_shared<session>(std::move(opened.open));
    const auto supervisor_ = system.spawn(supervisor, run, std::move(opened.closed), hub_);
    signals.on_signal([&] { caf::anon_send(supervisor_, stop_atom::value); });

    std::optional<outcome> ended;
    std::optional<error> failed;
    self->request(supervisor_, caf::infinite, run_atom::value)
        .receive([&](outcome& value) { ended = std::move(value); },
                 [&](caf::error& reason) { failed = to_exception(reason); });
    signals.on_signal([] { _exit(static_cast<int>(errc::interrupted)); });
    self->send_exit(supervisor_, caf::exit_reason::user_shutdown);
    self->wait_for(supervisor_);
    // The hub answers once it has seen to all before: the report is made from a whole run log.
    self->request(hub_, caf::infinite, ack_atom::value).receive([] {}, [](const caf::error&) {});
    if (failed) throw *failed;
    return finish_run(*run, *ended, options.sign.get());
}

}  // namespace rldp::actors
