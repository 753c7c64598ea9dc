#include "actors/trainer.hpp"

#include "actors/failure.hpp"
#include "actors/run/checkpoint.hpp"
#include "actors/threads.hpp"

namespace rldp::actors {

namespace {

using trainer_pointer = trainer_actor::stateful_pointer<trainer_state>;

void next_step(trainer_pointer self);

/// Any request that fails ends the run; the supervisor, which watches every actor, names the cause.
auto give_up(trainer_pointer self) {
    return [self](const caf::error& reason) { self->state.promise.deliver(reason); };
}

void save(trainer_pointer self, std::string controller) {
    auto& state = self->state;
    write_checkpoint(
        state.schedule->checkpoint,
        {state.training->snapshot(), std::move(controller), state.schedule->charged, state.schedule->belongs_to},
        state.schedule->seal);
    self->send(state.wiring.sanitizer, forget_atom::value);
}

/// Writes a checkpoint, then goes on with `then`.
template <class Then>
void save_and(trainer_pointer self, Then then) {
    if (!self->state.wiring.controller) {
        save(self, {});
        return then();
    }
    self->request(self->state.wiring.controller, caf::infinite, save_atom::value)
        .then(
            [self, then](std::string& controller) {
                save(self, std::move(controller));
                then();
            },
            give_up(self));
}

/// A resume makes the metrics lines after the checkpoint again, those before it never: they are durable first.
template <class Then>
void checkpoint_and(trainer_pointer self, Then then) {
    self->request(self->state.wiring.hub, caf::infinite, sync_atom::value)
        .then([self, then] { save_and(self, then); }, give_up(self));
}

void end(trainer_pointer self, ending how) {
    checkpoint_and(self, [self, how] {
        const auto& training = *self->state.training;
        self->state.promise.deliver(
            outcome{how, training.step(), training.lost(), training.adapter(), training.trace(), {}});
    });
}

void evaluate(trainer_pointer self) {
    auto& state = self->state;
    state.evaluating = true;
    self->request(state.wiring.evaluator, caf::infinite, evaluate_atom::value,
                  snapshot{state.training->step(), state.training->adapter()})
        .then(
            [self](std::int64_t) {
                self->state.evaluating = false;
                if (const auto go_on = std::exchange(self->state.waiting, nullptr)) go_on();
            },
            give_up(self));
}

void go_on(trainer_pointer self) {
    if (self->state.training->step() % self->state.schedule->evaluations.every == 0)
        checkpoint_and(self, [self] { next_step(self); });
    else
        next_step(self);
}

void after_step(trainer_pointer self) {
    auto& state = self->state;
    if (!state.schedule->evaluations.due(state.training->step()) && !state.training->finished()) return go_on(self);
    const auto evaluate_and_go_on = [self] {
        evaluate(self);
        go_on(self);
    };
    // One snapshot at a time: where evaluation is slower than training, training waits, or adapters would pile up.
    if (state.evaluating)
        state.waiting = evaluate_and_go_on;
    else
        evaluate_and_go_on();
}

void decide(trainer_pointer self) {
    self->request(self->state.wiring.accountant, caf::infinite, progress_atom::value)
        .then(
            [self](double progress) {
                auto& state = self->state;
                self->request(state.wiring.controller, caf::infinite, decide_atom::value,
                              state.training->observe(progress), state.training->base_radii())
                    .then(
                        [self](const rl::dials& chosen) {
                            self->state.training->set(chosen);
                            after_step(self);
                        },
                        give_up(self));
            },
            give_up(self));
}

void apply(trainer_pointer self, const charged& granted, const privacy::release& released) {
    auto& state = self->state;
    const auto radii = state.training->radii();
    state.training->apply(released);
    self->send(state.wiring.hub, metrics_atom::value,
               metrics_of(*state.training, radii, granted.charge->noise_multiplier, granted.progress_epsilon));
    if (state.training->decision_due())
        decide(self);
    else
        after_step(self);
}

void compute(trainer_pointer self, const charged& granted) {
    auto& state = self->state;
    state.schedule->charged = {granted.charge->seq, granted.charge->hash};
    const step_task task{state.training->order(granted.charge), state.training->adapter()};
    self->request(state.wiring.gradient, caf::infinite, compute_atom::value, task)
        .then([self, granted](const privacy::release& released) { apply(self, granted, released); }, give_up(self));
}

void next_step(trainer_pointer self) {
    auto& state = self->state;
    if (state.training->finished()) return end(self, ending::done);
    if (state.stopping) return end(self, ending::interrupted);
    self->request(state.wiring.accountant, caf::infinite, grant_atom::value, state.training->step() + 1,
                  state.training->requested_noise_multiplier())
        .then([self](const charged& granted) { compute(self, granted); },
              [self](const caf::error& reason) {
                  if (to_exception(reason).code() == errc::budget_exhausted)
                      end(self, ending::budget_exhausted);
                  else
                      self->state.promise.deliver(reason);
              });
}

}  // namespace

trainer_actor::behavior_type trainer(trainer_pointer self, std::shared_ptr<rl::training> training,
                                     trainer_wiring wiring, trainer_schedule schedule) {
    fail_publicly(self);
    use_threads(1);  // one AdamW step is short
    self->state.training = std::move(training);
    self->state.wiring = std::move(wiring);
    self->state.schedule = std::move(schedule);
    return {
        [self](train_atom) {
            auto& state = self->state;
            state.promise = self->make_response_promise<outcome>();
            if (state.training->step() == 0) evaluate(self);
            next_step(self);
            return state.promise;
        },
        [self](stop_atom) { self->state.stopping = true; },
    };
}

}  // namespace rldp::actors
