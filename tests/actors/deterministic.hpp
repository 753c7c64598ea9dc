#pragma once
// Runs actors one message at a time, with virtual time and no threads of their own.
#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

namespace rldp::testing {

struct deterministic {
    struct config : caf::actor_system_config {
        config() {
            set("scheduler.policy", caf::atom("testing"));
            set("logger.file-verbosity", caf::atom("quiet"));
        }
    };

    config settings;
    caf::actor_system system{settings};
    caf::scoped_actor self{system, true};
    caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
    std::vector<caf::actor> spawned;

    ~deterministic() {
        for (auto actor = spawned.rbegin(); actor != spawned.rend(); ++actor)
            self->send_exit(*actor, caf::exit_reason::user_shutdown);
        run();
    }

    /// Spawns on the test scheduler and ends the actor with this fixture.
    template <class... Args>
    auto spawn(Args&&... args) {
        auto actor = system.spawn(std::forward<Args>(args)...);
        spawned.push_back(caf::actor_cast<caf::actor>(actor));
        return actor;
    }

    /// Delivers messages until every mailbox is empty; returns how many.
    std::size_t run() {
        std::size_t delivered = 0;
        while (scheduler.try_run_once()) ++delivered;
        return delivered;
    }

    /// Delivers exactly one message, to `receiver`.
    template <class Handle>
    bool step(const Handle& receiver) {
        return scheduler.prioritize(receiver) && scheduler.try_run_once();
    }

    /// Looks into a stateful actor.
    template <class State, class Handle>
    State& state(const Handle& handle) {
        auto* abstract = caf::actor_cast<caf::abstract_actor*>(handle);
        return dynamic_cast<caf::stateful_actor<State, typename Handle::base>&>(*abstract).state;
    }

    /// Request, run, and return the answer or the error; an error, too, where nobody has answered.
    template <class T, class Handle, class... Args>
    caf::expected<T> ask(const Handle& handle, Args&&... args) {
        auto request = self->request(handle, caf::infinite, std::forward<Args>(args)...);
        run();
        if (self->mailbox().empty()) return caf::make_error(caf::sec::request_timeout);
        caf::expected<T> answer{caf::error{}};
        request.receive([&](T& value) { answer = std::move(value); },
                        [&](caf::error& reason) { answer = std::move(reason); });
        return answer;
    }
};

}  // namespace rldp::testing
