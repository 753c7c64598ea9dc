#include "actors/accountant.hpp"

#include "actors/failure.hpp"

namespace rldp::actors {

double accountant_state::progress_epsilon() {
    const auto charges = budget->book().charges.size();
    if (charges != refreshed) {
        progress = budget->progress_epsilon();
        refreshed = charges;
    }
    return progress;
}

void accountant_state::catch_up(std::int64_t interval) {
    const auto& charges = budget->book().charges;
    if (charges.empty()) return;
    refreshed = budget->charges_through(charges.back()->step / interval * interval);
    progress = budget->progress_epsilon(refreshed);
}

accountant_actor::behavior_type make_accountant(accountant_actor::stateful_pointer<accountant_state> self,
                                                std::shared_ptr<privacy::budget> budget, std::int64_t interval) {
    fail_publicly(self);
    self->state.budget = std::move(budget);
    self->state.catch_up(interval);
    return {
        [=](grant_atom, std::int64_t step, double requested) -> caf::result<charged> {
            auto& state = self->state;
            const auto granted = state.budget->grant(step, requested);
            if (!granted) return failure(errc::budget_exhausted, "the spending policy grants nothing more");
            if (step % interval == 0) self->send(self, refresh_atom::value);
            return charged{*granted, state.progress};
        },
        [self](progress_atom) { return self->state.progress_epsilon(); },
        [self](refresh_atom) { self->state.progress_epsilon(); },
    };
}

}  // namespace rldp::actors
