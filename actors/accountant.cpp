#include "actors/accountant.hpp"

#include "actors/failure.hpp"

namespace rldp::actors {

double accountant_state::progress_epsilon() {
    const auto charges = account->book().charges.size();
    if (charges != refreshed) {
        progress = account->progress_epsilon();
        refreshed = charges;
    }
    return progress;
}

accountant_actor::behavior_type accountant(accountant_actor::stateful_pointer<accountant_state> self,
                                           std::shared_ptr<privacy::account> account, std::int64_t interval) {
    fail_publicly(self);
    self->state.account = std::move(account);
    return {
        [=](grant_atom, std::int64_t step, double requested) -> caf::result<charged> {
            auto& state = self->state;
            const auto granted = state.account->grant(step, requested);
            if (!granted) return failure(errc::budget_exhausted, "the spending policy grants nothing more");
            if (step % interval == 0) self->send(self, refresh_atom::value);
            return charged{granted->seq, granted->noise_multiplier, state.progress};
        },
        [self](progress_atom) { return self->state.progress_epsilon(); },
        [self](refresh_atom) { self->state.progress_epsilon(); },
    };
}

}  // namespace rldp::actors
