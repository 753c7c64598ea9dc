#include "actors/launch.hpp"

#include <list>
#include <mutex>

#include "actors/failure.hpp"
#include "actors/hub.hpp"
#include "actors/supervisor.hpp"
#include "actors/threads.hpp"
#include "run/finish.hpp"
#include "run/ranks/step_words.hpp"
#include "run/signals.hpp"

namespace rldp::actors {

namespace {

/// Lets others than a signal's end a run; from any thread.
class brake {
  public:
    void is(const supervisor_actor& of) {
        const std::lock_guard lock(mutex_);
        of_ = of;
    }
    /// Whether there was one to ask.
    bool pull() {
        const std::lock_guard lock(mutex_);
        if (of_) caf::anon_send(of_, stop_atom::value);
        return static_cast<bool>(of_);
    }

  private:
    std::mutex mutex_;
    supervisor_actor of_;
};

}  // namespace

eval::run_summary launch(const std::function<opened_run()>& open, const launch_options& options) {
    share_heap();
    signal_watch signals(options.on_cut);
    brake stops;
    // They outlive the actors, so that what those say last is served.
    std::list<monitor::http_server> servers;
    const std::vector<std::filesystem::path> none_yet;
    if (options.monitor) servers.emplace_back(*options.monitor, none_yet, options.program_version);
    if (options.dashboard) {
        servers.emplace_back(*options.dashboard, none_yet, options.program_version,
                             [&](const std::string&) { return stops.pull(); });
        if (options.on_dashboard) options.on_dashboard(servers.back().address());
    }
    system_config configuration;
    caf::actor_system system(configuration);
    const caf::scoped_actor self(system);
    const auto hub = system.spawn(make_hub, options.name, options.progress);
    const auto display =
        options.display ? system.spawn<caf::detached>(make_display, hub, options.display) : display_actor{};
    const auto tell_servers = [&](const run_view& seen) {
        for (auto& server : servers) server.tell(seen);
    };
    const auto teller = servers.empty() ? display_actor{} : system.spawn(make_display, hub, show(tell_servers));
    // Whatever happens from here on, these end with this function: the system's destructor waits for them.
    const std::shared_ptr<void> ending_(nullptr, [&](void*) {
        for (const auto& watcher : {display, teller})
            if (watcher) self->send_exit(watcher, caf::exit_reason::user_shutdown);
        self->send_exit(hub, caf::exit_reason::user_shutdown);
    });

    const auto opened = on_passing_thread(all_threads(), open);
    const auto& run = *opened.facts;
    for (auto& server : servers) server.follow(run.where.root);
    if (options.on_plan) options.on_plan(run.plan);
    const auto supervisor = system.spawn(make_supervisor, opened, hub);
    signals.on_signal([&] { caf::anon_send(supervisor, stop_atom::value); });
    stops.is(supervisor);

    std::optional<outcome> ended;
    std::optional<error> failed;
    self->request(supervisor, caf::infinite, run_atom::value)
        .receive([&](outcome& value) { ended = std::move(value); },
                 [&](caf::error& reason) { failed = to_exception(reason); });
    signals.on_signal({});
    stops.is({});
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
    self->wait_for(supervisor);
    // The hub answers once it has seen to all before: the report is made from a whole run log.
    self->request(hub, caf::infinite, sync_atom::value)
        .receive([] {},
                 [&](const caf::error& reason) {
                     if (!failed) failed = to_exception(reason);
                 });
    if (failed) throw *failed;
    if (opened.team) ranks::tell_end(*opened.team);
    return finish_run(run, *ended, options.sign.get());
}

}  // namespace rldp::actors
