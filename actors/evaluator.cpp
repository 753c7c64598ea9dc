#include "actors/evaluator.hpp"

#include <algorithm>

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "eval/perplexity.hpp"

namespace rldp::actors {

evaluator_actor::behavior_type make_evaluator(evaluator_actor::stateful_pointer<evaluator_state> self, run_model model,
                                              std::shared_ptr<const std::vector<models::sequence>> eval,
                                              std::int64_t batch, hub_actor hub, evaluations seen_before) {
    fail_publicly(self);
    self->state.seen = seen_before;
    return {
        [=](evaluate_atom, const snapshot& at) {
            const double found = on_passing_thread(std::max(1, all_threads() / 2), [&] {
                return eval::perplexity(*model.base, &model.layout, &at.adapter, *eval, batch);
            });
            auto& seen = self->state.seen;
            if (at.step == 0) seen.before = found;
            seen.last = found;
            seen.best = std::min(found, seen.best.value_or(found));
            self->send(hub, evaluated_atom::value, at.step, found);
            return at.step;  // the trainer must not learn what was found
        },
        [self](settle_atom) { return self->state.seen; },
    };
}

}  // namespace rldp::actors
