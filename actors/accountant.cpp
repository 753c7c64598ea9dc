#include "actors/accountant.hpp"

#include "actors/failure.hpp"

namespace rldp::actors {

double accountant_state::epsilon_spent() {
    const auto& charges = budget->ledger_view().charges;
    if (charges.size() != priced) {
        progress = {budget->epsilon_spent(), charges.back()->step};
        priced = charges.size();
    }
    return progress.epsilon;
}

void accountant_state::catch_up(const price_times& times) {
    const auto& charges = budget->ledger_view().charges;
    const auto step = charges.empty() ? 0 : times.last_through(charges.back()->step);
    if (step == 0) return;
    priced = budget->ledger_view().charges_through(step);
    progress = {budget->epsilon_spent(priced), step};
}

accountant_actor::behavior_type make_accountant(accountant_actor::stateful_pointer<accountant_state> self,
                                                std::shared_ptr<privacy::budget> budget, const price_times& times) {
    fail_publicly(self);
    self->state.budget = std::move(budget);
    self->state.catch_up(times);
    return {
        [=](grant_atom, std::int64_t step, double requested) -> caf::result<charged> {
            auto& state = self->state;
            const auto granted = state.budget->grant(step, requested);
            if (!granted) return failure(errc::budget_exhausted, "the spending policy grants nothing more");
            if (times.due(step)) self->send(self, refresh_atom::value);
            return charged{*granted, state.progress};
        },
        [self](look_atom, std::int64_t step) -> caf::result<privacy::look_charge> {
            const auto granted = self->state.budget->grant_look(step);
            if (!granted) return failure(errc::budget_exhausted, "no look is left, or this step was looked at");
            return *granted;
        },
        [self](progress_atom) { return self->state.epsilon_spent(); },
        [self](refresh_atom) { self->state.epsilon_spent(); },
    };
}

}  // namespace rldp::actors
