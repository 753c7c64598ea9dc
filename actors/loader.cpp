#include "actors/loader.hpp"

#include <utility>

#include "actors/failure.hpp"
#include "data/units/split_and_sampling.hpp"
#include "privacy/trusted_side.hpp"

namespace rldp::actors {

trusted<draw> loader_state::make(std::uint64_t seq) const {
    const auto& inside = privacy::opened(closed);
    privacy::random_stream random(inside->key, privacy::purpose::draw, seq, 0);
    draw out{.seq = seq, .store = {inside, &inside->train}, .units = {}};
    const auto next = [&] { return random.next(); };
    const auto drawn =
        inside->bands == 1
            ? data::poisson_draw(static_cast<std::int64_t>(inside->train.size()), sample_rate, next)
            : data::draw_from_group(inside->groups, data::find_group_of_step(seq, inside->bands), sample_rate, next);
    for (const auto unit : drawn) out.units.push_back(inside->train[static_cast<std::size_t>(unit)]);
    return trusted<draw>(std::move(out));
}

void loader_state::prefetch(std::uint64_t seq) {
    ready = make(seq);
    ready_seq = seq;
}

trusted<draw> loader_state::hand_out(std::uint64_t seq) {
    const bool made = ready && ready_seq == seq;
    return made ? *std::exchange(ready, std::nullopt) : make(seq);
}

loader_actor::behavior_type make_loader(loader_actor::stateful_pointer<loader_state> self,
                                        trusted<std::shared_ptr<const secrets>> closed, double sample_rate,
                                        std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, std::move(trusted_log));
    self->state.closed = std::move(closed);
    self->state.sample_rate = sample_rate;
    return {
        [self](draw_atom, std::uint64_t seq) {
            auto out = self->state.hand_out(seq);
            self->send(self, prefetch_atom::value, seq + 1);
            return out;
        },
        [self](prefetch_atom, std::uint64_t seq) { self->state.prefetch(seq); },
    };
}

}  // namespace rldp::actors
