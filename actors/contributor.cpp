#include "actors/contributor.hpp"

#include <ATen/ATen.h>

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "privacy/trusted_side.hpp"

namespace rldp::actors {

void contributor_state::add(const trusted<privacy::unit_gradients>& chunk) {
    const auto& gradients = privacy::opened(chunk);
    if (gradients.parts) use_threads(all_threads());  // multiplied out here, while the gradient actor waits
    sum->add(gradients);
}

sanitizer_actor::behavior_type make_contributor(sanitizer_actor::stateful_pointer<contributor_state> self,
                                                std::vector<privacy::segment> segments,
                                                std::shared_ptr<privacy::reducer> over,
                                                std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, std::move(trusted_log));
    return {
        [self, segments = std::move(segments)](begin_atom, const privacy::step_order& order) {
            use_threads(1);  // gradients are under way on all of them
            self->state.order = order;
            self->state.sum.emplace(segments, order.terms);
        },
        [self](clip_atom, const trusted<privacy::unit_gradients>& chunk) { self->state.add(chunk); },
        [self, over](finish_atom) {
            auto numbers = std::exchange(self->state.sum, std::nullopt)->numbers();
            const auto& charged = self->state.order->charged;
            over->reduce(charged->seq, {numbers.data_ptr<std::int64_t>(), static_cast<std::size_t>(numbers.numel())});
            return privacy::release{charged, at::Tensor(), {}, {}};
        },
        [](forget_atom) {},
    };
}

}  // namespace rldp::actors
