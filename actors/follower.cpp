#include "actors/follower.hpp"

#include <ATen/ATen.h>

#include "actors/contributor.hpp"
#include "actors/failure.hpp"
#include "actors/gradient.hpp"
#include "actors/loader.hpp"
#include "actors/threads.hpp"
#include "actors/trusted_log.hpp"
#include "run/factories.hpp"
#include "run/ranks/step_words.hpp"

namespace rldp::actors {

namespace {

using follower_pointer = follower_actor::stateful_pointer<follower_state>;

void proceed(follower_pointer self);

/// One step, or the end.
void follow_once(follower_pointer self) {
    auto& state = self->state;
    const auto next = ranks::hear_step(*state.team, *state.ledger);
    if (!next) {
        state.promise.deliver(state.steps);
        return;
    }
    auto order = next->order;
    for (auto& probe : order.probes) probe = probe.to(state.device);
    self->request(state.gradient, caf::infinite, compute_atom::value, step_task{order, next->adapter.to(state.device)})
        .then(
            [self](const privacy::release&) {
                ++self->state.steps;
                proceed(self);
            },
            [self](const caf::error& reason) {
                // Others only echo an actor that died, whose down message is coming.
                if (reason.category() == caf::atom("rldp")) self->state.promise.deliver(reason);
            });
}

void proceed(follower_pointer self) {
    try {
        follow_once(self);
    } catch (...) {  // thrown on, it would leave the promise, and whoever waits, without an answer
        self->state.promise.deliver(public_failure(follower_state::name, std::current_exception()));
    }
}

}  // namespace

follower_actor::behavior_type make_follower(follower_pointer self, std::shared_ptr<ranks::team> team,
                                            std::shared_ptr<privacy::ledger_copy> ledger, at::Device device,
                                            gradient_actor gradient, const std::vector<caf::actor>& others) {
    fail_publicly(self);
    for (const auto& other : others) self->monitor(other);
    self->monitor(gradient);
    self->set_down_handler([self](const caf::down_msg& gone) { self->state.promise.deliver(gone.reason); });
    self->state.team = std::move(team);
    self->state.ledger = std::move(ledger);
    self->state.device = device;
    self->state.gradient = std::move(gradient);
    return {
        [self](run_atom) {
            self->state.promise = self->make_response_promise<std::int64_t>();
            proceed(self);
            return self->state.promise;
        },
    };
}

void follow(const std::function<joined_run()>& join, const std::shared_ptr<ranks::team>& team,
            const std::filesystem::path& trusted_log) {
    share_heap();
    system_config configuration;
    caf::actor_system system(configuration);
    const caf::scoped_actor self(system);
    const auto run = on_passing_thread(all_threads(), join);
    const auto log = trusted_log_of_rank(trusted_log);
    auto how = make_gradient_settings(run.spec, run.plan, run.model, team->ranks());
    how.rank = team->rank();
    const auto loader = system.spawn<caf::detached>(make_loader, run.closed, run.plan.step_rate(), log);
    const auto contributor =
        system.spawn<caf::detached>(make_contributor, make_segments(run.spec.clip.groups, run.model.layout), team, log);
    const auto gradient =
        system.spawn<caf::detached>(make_gradient, run.closed, run.model, how, loader, contributor, log);
    const std::vector others{caf::actor_cast<caf::actor>(loader), caf::actor_cast<caf::actor>(contributor)};
    const auto follower = system.spawn<caf::detached>(make_follower, team, run.ledger,
                                                      run.model.initial_adapter.device(), gradient, others);
    std::optional<error> failed;
    self->request(follower, caf::infinite, run_atom::value)
        .receive([](std::int64_t) {}, [&](const caf::error& reason) { failed = to_exception(reason); });
    self->send_exit(follower, caf::exit_reason::user_shutdown);
    self->send_exit(gradient, caf::exit_reason::user_shutdown);
    for (const auto& other : others) self->send_exit(other, caf::exit_reason::user_shutdown);
    if (failed) throw *failed;
}

}  // namespace rldp::actors
