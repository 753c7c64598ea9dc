#include "actors/gradient.hpp"

#include <ATen/ATen.h>

#include <spdlog/logger.h>

#include <optional>
#include <utility>

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "privacy/trusted_side.hpp"

namespace rldp::actors {

void gradient_state::compute(const step_task& task, const trusted<draw>& drawn,
                             const std::function<void(trusted<privacy::unit_gradients>)>& take) const {
    const auto& own = *privacy::opened(closed);
    const auto& device = task.adapter.device();
    std::vector<models::unit_records> units;
    std::vector<at::Tensor> canaries;
    std::optional<privacy::unit_shares> shares;
    if (how.ranks > 1) shares.emplace(own.key);
    const auto is_mine = [&](const models::unit_records& unit) {
        return !shares || shares->assign_rank(unit, how.ranks) == how.rank;
    };
    for (const auto& unit : privacy::opened(drawn).units) {
        if (unit.gradient_canary && how.rank > 0) continue;  // rank 0 makes them
        if (unit.gradient_canary)
            canaries.push_back(eval::canary_gradient(own.gradient_canaries, *unit.gradient_canary));
        else if (is_mine(unit.records))
            units.push_back(unit.records);
    }
    const auto hand_over = [&](privacy::unit_gradients chunk) {
        take(trusted<privacy::unit_gradients>(std::move(chunk)));
    };
    // Where no rounding is charged for, every unit is alone in its chunk (docs/privacy.md §6).
    const auto together = how.apart ? 1 : canaries.size();
    for (std::size_t first = 0; first < canaries.size(); first += together) {
        const at::TensorList some(canaries.data() + first, together);
        hand_over({at::stack(some).to(device, /*non_blocking=*/true),
                   at::zeros({std::ssize(some), 1 + std::ssize(task.order.probes)}, at::kDouble), 0});
    }
    step_gradients(
        model, how, task.adapter, task.order.probes, std::move(units),
        make_dropout(own.key, task.order.charged->seq, model.layout, device), hand_over,
        [&](const std::exception& reason) { trusted_log->error("a unit counts as zero: {}", reason.what()); });
}

gradient_actor::behavior_type make_gradient(gradient_actor::stateful_pointer<gradient_state> self,
                                            trusted<std::shared_ptr<const secrets>> closed, run_model model,
                                            gradient_settings how, loader_actor loader, sanitizer_actor sanitizer,
                                            std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, trusted_log);
    use_threads(how.abreast == 1 ? how.threads : 1);  // abreast, each chunk has a thread of its own
    self->state.trusted_log = std::move(trusted_log);
    self->state.closed = std::move(closed);
    self->state.model = std::move(model);
    self->state.how = how;
    return {
        [=](compute_atom, const step_task& task) {
            auto promise = self->make_response_promise<privacy::release>();
            // The grant is there: only now is the draw opened (docs/privacy.md §5).
            self->request(loader, caf::infinite, draw_atom::value, task.order.charged->seq)
                .then([=](const trusted<draw>& drawn) mutable {
                    self->send(sanitizer, begin_atom::value, task.order);
                    const caf::scoped_actor waiting(self->system());
                    const auto hand_over = [&](trusted<privacy::unit_gradients> chunk) {
                        if (!self->state.model.layout.trains_base())
                            return self->send(sanitizer, clip_atom::value, std::move(chunk));
                        // The sanitizer multiplies a chunk's factors out, on all threads; two would be too much to
                        // hold.
                        waiting->request(sanitizer, caf::infinite, clip_atom::value, std::move(chunk))
                            .receive([] {}, [](const caf::error& reason) { throw to_exception(reason); });
                    };
                    try {
                        self->state.compute(task, drawn, hand_over);
                        promise.delegate(sanitizer, finish_atom::value);
                    } catch (...) {
                        const bool given_up = is_stopped(std::current_exception());
                        promise.deliver(given_up ? stopped()
                                                 : silent_failure(gradient_state::name, *self->state.trusted_log));
                        if (!given_up) throw;  // CAF leaves a promise unanswered
                    }
                });
            return promise;
        },
    };
}

}  // namespace rldp::actors
