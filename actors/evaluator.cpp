#include "actors/evaluator.hpp"

#include <algorithm>

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "config/base/error.hpp"
#include "models/device.hpp"

namespace rldp::actors {

evaluator_actor::behavior_type make_evaluator(evaluator_actor::stateful_pointer<evaluator_state> self, run_model model,
                                              std::shared_ptr<const eval::held_out> records, std::int64_t batch,
                                              const hub_actor& hub, evaluations seen_before, std::stop_token stop) {
    fail_publicly(self);
    self->state.seen = seen_before;
    const auto threads = std::max(1, all_threads() / 2);
    const eval::scoring how{.batch = batch, .answers_only = records->answers_only, .stop = stop};
    const eval::scoring whole{.batch = batch, .stop = stop};  // likelihoods of whole records
    const auto unless_stopped = [self](const auto& work) {
        try {
            work();
        } catch (const error& ended) {
            if (ended.code() != errc::interrupted) throw;
            self->state.seen.stopped = true;
        }
    };
    const models::side_stream aside(model.initial_adapter.device());
    const auto prediction_of = [=](const at::Tensor& adapter) {
        return on_passing_thread(threads, [&] {
            return aside.run(
                [&] { return eval::predict(*model.base, &model.layout, &adapter, *records->target, whole); });
        });
    };
    return {
        [=](evaluate_atom, const snapshot& at) {
            unless_stopped([&] {
                const auto found = on_passing_thread(threads, [&] {
                    return aside.run([&] {
                        return eval::score_held_out(*model.base, &model.layout, &at.adapter, records->sequences, how);
                    });
                });
                self->state.seen.add(at.step, found);
                self->send(hub, evaluated_atom::value, at.step, found);
            });
            return at.step;  // the trainer must not learn what was found
        },
        [=](settle_atom, const snapshot& end) {
            auto& seen = self->state.seen;
            if (records->target && end.adapter.defined())
                unless_stopped([&] {
                    seen.predicted_before = prediction_of(model.initial_adapter);
                    seen.predicted = prediction_of(end.adapter);
                });
            return seen;
        },
    };
}

}  // namespace rldp::actors
