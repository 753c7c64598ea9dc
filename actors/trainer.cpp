#include "actors/trainer.hpp"

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "run/checkpoint.hpp"

namespace rldp::actors {

namespace {

using trainer_pointer = trainer_actor::stateful_pointer<trainer_state>;

void proceed(trainer_pointer self);

bool looks(const trainer_state& state) {
    return state.schedule->held_out == publication::noised;
}

/// Any request that fails ends the run; the supervisor, which watches every actor, names the cause.
auto give_up(trainer_pointer self) {
    return [self](const caf::error& reason) { self->state.promise.deliver(reason); };
}

/// The releases before a checkpoint are no longer needed. That their log can't be cut is heard before anything else.
template <class Then>
void save_with(trainer_pointer self, std::string controller, Then then) {
    auto& state = self->state;
    write_checkpoint(state.schedule->checkpoint,
                     {state.steps->training().snapshot(), std::move(controller), state.schedule->charged,
                      state.schedule->belongs_to, looks(state) ? std::nullopt : state.evaluating},
                     state.schedule->seal);
    self->request(state.wiring.sanitizer, caf::infinite, forget_atom::value).then([then] { then(); }, give_up(self));
}

/// Writes a checkpoint, then goes on with `then`.
template <class Then>
void save_and(trainer_pointer self, Then then) {
    if (!self->state.wiring.controller) return save_with(self, {}, then);
    self->request(self->state.wiring.controller, caf::infinite, save_atom::value)
        .then([self, then](std::string& controller) { save_with(self, std::move(controller), then); }, give_up(self));
}

/// A resume makes the metrics lines after the checkpoint again, those before it never: they are durable first.
template <class Then>
void checkpoint_and(trainer_pointer self, Then then) {
    self->request(self->state.wiring.hub, caf::infinite, sync_atom::value)
        .then([self, then] { save_and(self, then); }, give_up(self));
}

/// Has everything charged so far priced, tells who watches, and goes on with `then`. Where a run is interrupted is no
/// part of its log: the run that goes on has the log of one that never stopped.
template <class Then>
void price_and(trainer_pointer self, bool logged, Then then) {
    const auto step = self->state.steps->training().step();
    if (step == 0) return then();
    self->request(self->state.wiring.accountant, caf::infinite, progress_atom::value)
        .then(
            [self, step, logged, then](double epsilon) {
                self->send(self->state.wiring.hub, progress_atom::value, step, epsilon, logged);
                then();
            },
            give_up(self));
}

void conclude(trainer_pointer self, ending how) {
    checkpoint_and(self, [self, how] {
        const auto& training = self->state.steps->training();
        self->state.promise.deliver(outcome{
            how, training.step(), training.lost(), training.result(), training.trace(), {}, self->state.steps->kept()});
    });
}

/// The evaluator is done with its snapshot.
auto evaluated(trainer_pointer self) {
    return [self](std::int64_t) {
        if (!self->state.stopping || looks(self->state)) self->state.evaluating.reset();
        if (const auto go_on = std::exchange(self->state.waiting, nullptr)) go_on();
    };
}

/// A look is charged before the units are opened, and stands in the ledger before the next step's charge: the
/// accountant answers in order.
template <class Then>
void look_and(trainer_pointer self, Then then) {
    const auto& training = self->state.steps->training();
    const snapshot at{training.step(), training.result()};
    self->request(self->state.wiring.accountant, caf::infinite, look_atom::value, at.step)
        .then(
            [self, at, then](const privacy::look_charge& granted) {
                auto& state = self->state;
                state.schedule->charged.hash = granted->hash;
                state.evaluating = at;
                self->send(state.wiring.hub, evaluate_atom::value, at.step);
                self->request(state.wiring.evaluator, caf::infinite, look_atom::value, granted, at)
                    .then(evaluated(self), give_up(self));
                then();
            },
            [self, then](const caf::error& reason) {
                if (to_exception(reason).code() != errc::budget_exhausted) return give_up(self)(reason);
                then();  // a resumed run looked at this step before
            });
}

template <class Then>
void evaluate_and(trainer_pointer self, Then then) {
    auto& state = self->state;
    if (looks(state)) return look_and(self, then);
    state.evaluating = {state.steps->training().step(), state.steps->training().result()};
    if (state.schedule->held_out == publication::raw)
        self->send(state.wiring.hub, evaluate_atom::value, state.evaluating->step);
    self->request(state.wiring.evaluator, caf::infinite, evaluate_atom::value, *state.evaluating)
        .then(evaluated(self), give_up(self));
    then();
}

void end(trainer_pointer self, ending how) {
    auto& state = self->state;
    if (state.evaluating && looks(state)) {  // as with a checkpoint
        state.waiting = [self, how] { end(self, how); };
        return;
    }
    price_and(self, how != ending::interrupted, [self, how] {
        // What an exhausted budget ends earlier than planned is looked at where it ended.
        if (how == ending::budget_exhausted && looks(self->state))
            return look_and(self, [self, how] { conclude(self, how); });
        conclude(self, how);
    });
}

void decide(trainer_pointer self) {
    self->request(self->state.wiring.accountant, caf::infinite, progress_atom::value)
        .then(
            [self](double progress) {
                auto& state = self->state;
                self->request(state.wiring.controller, caf::infinite, decide_atom::value,
                              state.steps->observe(progress))
                    .then(
                        [self](const rl::block_action& chosen) {
                            self->state.steps->decide(chosen);
                            proceed(self);
                        },
                        give_up(self));
            },
            give_up(self));
}

void lose(trainer_pointer self, const charged& granted) {
    self->send(self->state.wiring.hub, metrics_atom::value,
               self->state.steps->apply(granted.charge, nullptr, granted.progress));
    proceed(self);
}

void compute(trainer_pointer self, const charged& granted) {
    auto& state = self->state;
    state.schedule->charged = {granted.charge->seq, granted.charge->hash};
    const step_task task{state.steps->order(granted.charge), state.steps->training().adapter()};
    self->request(state.wiring.gradient, caf::infinite, compute_atom::value, task)
        .then(
            [self, granted](const privacy::release& released) {
                self->send(self->state.wiring.hub, metrics_atom::value,
                           self->state.steps->apply(granted.charge, &released, granted.progress));
                proceed(self);
            },
            [self, granted](const caf::error& reason) {
                if (!is_stopped(reason)) return give_up(self)(reason);
                lose(self, granted);  // nothing of it was released, and it stays charged
            });
}

void step(trainer_pointer self) {
    auto& state = self->state;
    const auto& training = state.steps->training();
    if (const auto& watch = state.schedule->watch)
        watch(state.steps->next_step(), training.adapter(), training.find_geometry());
    self->request(state.wiring.accountant, caf::infinite, grant_atom::value, state.steps->next_step(),
                  state.steps->requested_noise_multiplier())
        .then([self](const charged& granted) { compute(self, granted); },
              [self](const caf::error& reason) {
                  if (to_exception(reason).code() == errc::budget_exhausted)
                      end(self, ending::budget_exhausted);
                  else
                      self->state.promise.deliver(reason);
              });
}

void proceed(trainer_pointer self) {
    auto& state = self->state;
    switch (state.steps->next()) {
        case step_machine::due::decision:
            return decide(self);
        case step_machine::due::evaluation:
            if (state.stopping) return end(self, ending::interrupted);
            // One snapshot at a time: where evaluation is slower than training, training waits; else adapters pile up.
            if (state.evaluating) {
                state.waiting = [self] { proceed(self); };
                return;
            }
            return price_and(self, true, [self] {
                evaluate_and(self, [self] {
                    self->state.steps->evaluated();
                    proceed(self);
                });
            });
        case step_machine::due::checkpoint:
            // It would write the run log's lines behind a look before the look's own, which tells how long that took.
            if (state.evaluating && looks(state)) {
                state.steps->put_off_checkpoint();
                return proceed(self);
            }
            return checkpoint_and(self, [self] {
                self->state.steps->saved();
                proceed(self);
            });
        case step_machine::due::step:
            return state.stopping ? end(self, ending::interrupted) : step(self);
        case step_machine::due::end:
            return end(self, ending::done);
    }
}

}  // namespace

trainer_actor::behavior_type make_trainer(trainer_pointer self, std::shared_ptr<step_machine> steps,
                                          trainer_wiring wiring, trainer_schedule schedule) {
    fail_publicly(self);
    use_threads(1);  // one AdamW step is short
    self->state.steps = std::move(steps);
    self->state.wiring = std::move(wiring);
    self->state.schedule = std::move(schedule);
    return {
        [self](train_atom) {
            auto& state = self->state;
            state.promise = self->make_response_promise<outcome>();
            proceed(self);
            return state.promise;
        },
        [self](stop_atom) { self->state.stopping = true; },
    };
}

}  // namespace rldp::actors
