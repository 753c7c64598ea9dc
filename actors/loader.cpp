#include "actors/loader.hpp"

#include "actors/failure.hpp"
#include "data/sampler.hpp"

namespace rldp::actors {

draw loader_state::make(std::uint64_t seq) const {
    const auto& inside = closed.open(privacy::trusted_key{});
    privacy::random_stream random(inside->key, privacy::purpose::draw, seq, 0);
    draw out{.seq = seq, .units = {}};
    const auto drawn =
        data::poisson_draw(static_cast<std::int64_t>(inside->train.size()), sample_rate, [&] { return random.next(); });
    for (const auto unit : drawn) out.units.push_back(inside->train[static_cast<std::size_t>(unit)]);
    return out;
}

trusted<draw> loader_state::hand_out(std::uint64_t seq) {
    auto out = ready && ready->seq == seq ? std::move(*ready) : make(seq);
    ready.reset();
    return trusted<draw>(std::move(out));
}

loader_actor::behavior_type loader(loader_actor::stateful_pointer<loader_state> self,
                                   trusted<std::shared_ptr<const secrets>> closed, double sample_rate,
                                   std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, std::move(trusted_log));
    self->state.closed = std::move(closed);
    self->state.sample_rate = sample_rate;
    return {
        [self](draw_atom, std::uint64_t seq) {
            auto out = self->state.hand_out(seq);
            self->send(self, prepare_atom::value, seq + 1);
            return out;
        },
        [self](prepare_atom, std::uint64_t seq) { self->state.ready = self->state.make(seq); },
    };
}

}  // namespace rldp::actors
