#include "privacy/spending/charges.hpp"

#include "config/base/require.hpp"

namespace rldp::privacy {

void charge_list::push_back(const charge& next) {
    require(next->seq == size() + 1, "charges: not the next one");
    const auto card = next->card ? std::optional(static_cast<std::uint32_t>(*next->card)) : std::nullopt;
    kept_.push_back({next->step, next->noise_multiplier, next->sample_rate, card, sha256_from(next->prev),
                     sha256_from(next->hash)});
}

charge charge_list::operator[](std::size_t i) const {
    const auto& kept = at(i);
    return charge({.seq = i + 1,
                   .step = kept.step,
                   .noise_multiplier = kept.noise_multiplier,
                   .sample_rate = kept.sample_rate,
                   .card = kept.card,
                   .prev = to_hex(kept.prev),
                   .hash = to_hex(kept.hash)});
}

}  // namespace rldp::privacy
