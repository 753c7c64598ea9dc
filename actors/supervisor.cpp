#include "actors/supervisor.hpp"

#include <limits>

#include "actors/accountant.hpp"
#include "actors/controller.hpp"
#include "actors/evaluator.hpp"
#include "actors/failure.hpp"
#include "actors/gradient.hpp"
#include "actors/leader.hpp"
#include "actors/loader.hpp"
#include "actors/sanitizer.hpp"
#include "actors/trainer.hpp"
#include "actors/trusted_log.hpp"
#include "run/artifacts/metrics.hpp"

namespace rldp::actors {

namespace {

using supervisor_pointer = supervisor_actor::stateful_pointer<supervisor_state>;

/// Ends every actor, last wired first.
void stop_all(supervisor_pointer self) {
    auto& watched = self->state.watched;
    for (auto actor = watched.rbegin(); actor != watched.rend(); ++actor)
        self->send_exit(*actor, caf::exit_reason::user_shutdown);
    watched.clear();
    self->state.trainer = nullptr;
    self->state.evaluator = nullptr;
}

void fail(supervisor_pointer self, const caf::error& reason) {
    if (std::exchange(self->state.over, true)) return;
    self->send(self->state.hub, state_atom::value, std::string("failed"));
    self->state.promise.deliver(failure(to_exception(reason).code(), to_exception(reason).what()));
    stop_all(self);
}

/// What a request to an actor that failed is answered. Errors of ours name a cause; others only echo an actor that
/// died, whose down message is coming. (Without a handler this actor would end with its promise, and whoever waits for
/// the answer waited for ever.)
auto fail_with(supervisor_pointer self) {
    return [self](const caf::error& reason) {
        if (reason.category() == caf::atom("rldp")) fail(self, reason);
    };
}

/// The trainer is done; what remains is to wait for the evaluations under way, and for the run log.
void conclude(supervisor_pointer self, outcome ended) {
    const auto deliver = [self](const outcome& whole) {
        if (std::exchange(self->state.over, true)) return;
        self->state.promise.deliver(whole);
        stop_all(self);
    };
    // Who interrupts a run does not wait for its predictions, either.
    const snapshot predicted{ended.steps_done, ended.how == ending::interrupted ? at::Tensor() : ended.adapter};
    self->request(self->state.evaluator, caf::infinite, settle_atom::value, predicted)
        .then(
            [self, ended, deliver](const evaluations& seen) {
                auto whole = ended;
                whole.held_out = seen;
                if (seen.stopped) whole.how = ending::interrupted;  // also where the steps were all made
                // Where the hub can't write, its down message names the cause.
                self->request(self->state.hub, caf::infinite, state_atom::value, eval::name_of(whole.how))
                    .then([deliver, whole] { deliver(whole); }, [](const caf::error&) {});
            },
            fail_with(self));
}

template <class Handle>
Handle watch(supervisor_pointer self, Handle actor) {
    self->monitor(actor);
    self->state.watched.push_back(caf::actor_cast<caf::actor>(actor));
    return actor;
}

trainer_schedule make_trainer_schedule(const session& run, const privacy::budget& budget) {
    return {.checkpoint = run.where.checkpoint(),
            .belongs_to = run.belongs_to,
            .seal = run.seal,
            .charged = budget.ledger_view().end(),
            .watch = make_rounding_watch(run),
            .held_out = run.spec.publish};
}

void wire(supervisor_pointer self, const opened_run& opened) {
    const auto& [facts, parts, closed, team] = opened;
    const auto& run = *facts;
    const auto trusted_log = open_trusted_log(run.where.log());
    std::optional<privacy::acknowledgement> unsound;
    if (run.spec.privacy.semantics == semantics::as_published)
        unsound.emplace(run.spec.privacy.acknowledge_no_guarantee);
    const auto promised = parts.budget->ledger_view().header.guarantee();
    std::vector<std::int64_t> awaited;
    if (run.spec.publish == publication::raw)
        for (const auto& at : run.passed) awaited.push_back(at.step);
    self->send(self->state.hub, announce_atom::value,
               run_header{run.where.metrics().string(), run.plan.steps, run.spec.privacy.epsilon_budget,
                          promised.holds() ? promised.epsilon_guaranteed : std::numeric_limits<double>::infinity(),
                          awaited, parts.budget->ledger_view().header_hash,
                          run.spec.monitor.tensorboard ? run.where.tensorboard().string() : std::string()});

    const auto spawn = [&]<class... Args>(Args&&... args) {
        return watch(self, self->system().template spawn<caf::detached>(std::forward<Args>(args)...));
    };
    trainer_wiring wiring;
    wiring.hub = self->state.hub;
    const auto loader = spawn(make_loader, closed, run.plan.step_rate(), trusted_log);
    wiring.sanitizer = spawn(make_sanitizer, closed, make_sanitizer_config(run.spec, run.model.layout), team, unsound,
                             run.where.releases(), trusted_log);
    auto how = make_gradient_settings(run, team ? team->ranks() : 1);
    // Ranks all finish a step that one has begun.
    if (!team && is_long_step(run.plan, run.model.base->parameters())) how.stop = self->state.stop.get_token();
    wiring.gradient = spawn(make_gradient, closed, run.model, how, loader, wiring.sanitizer, trusted_log);
    if (team) wiring.gradient = spawn(make_leader, team, wiring.gradient);
    auto schedule = make_trainer_schedule(run, *parts.budget);
    wiring.accountant = spawn(make_accountant, parts.budget, make_price_times(run.spec, run.plan));
    if (parts.controller) wiring.controller = spawn(make_controller, parts.controller);
    wiring.evaluator = spawn(make_evaluator, run.held_out, closed, make_evaluation_rule(run, run.seen), self->state.hub,
                             trusted_log, self->state.stop.get_token());
    self->state.evaluator = wiring.evaluator;
    for (const auto& at : run.passed) caf::anon_send(wiring.evaluator, evaluate_atom::value, at);
    self->state.trainer = spawn(make_trainer, parts.steps, wiring, std::move(schedule));
}

}  // namespace

supervisor_actor::behavior_type make_supervisor(supervisor_pointer self, opened_run run, hub_actor hub) {
    fail_publicly(self);
    self->state.hub = std::move(hub);
    self->monitor(self->state.hub);  // without it the run log would stand still unnoticed
    self->set_down_handler([self](const caf::down_msg& gone) {
        if (!self->state.over) fail(self, gone.reason);
    });
    return {
        [self, run = std::move(run)](run_atom) {
            self->state.promise = self->make_response_promise<outcome>();
            try {
                wire(self, run);
            } catch (...) {
                // Thrown on, it would end this actor with the promise, and whoever waits for the answer waited for
                // ever.
                fail(self, public_failure(supervisor_state::name, std::current_exception()));
                return self->state.promise;
            }
            if (self->state.stop.stop_requested()) self->send(self->state.trainer, stop_atom::value);
            self->request(self->state.trainer, caf::infinite, train_atom::value)
                .then([self](const outcome& ended) { conclude(self, ended); }, fail_with(self));
            return self->state.promise;
        },
        [self](stop_atom) {
            // The trainer has the word before anything ends because of the stop; before there is one, too.
            if (self->state.trainer) self->send(self->state.trainer, stop_atom::value);
            self->state.stop.request_stop();
            self->send(self->state.hub, state_atom::value, std::string("stopping"));
        },
    };
}

}  // namespace rldp::actors
