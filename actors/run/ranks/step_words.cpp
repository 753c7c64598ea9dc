#include "actors/run/ranks/step_words.hpp"

#include "privacy/methods/told_order.hpp"

namespace rldp::ranks {

void tell_step(team& to, const privacy::step_order& order, const at::Tensor& adapter) {
    to.broadcast(privacy::text_of(order.charged) + "\n" + privacy::tell({order.terms, order.probes, adapter}));
}

void tell_end(team& to) {
    to.broadcast();
    to.leave();
}

std::optional<heard_step> hear_step(team& from, privacy::ledger_copy& book) {
    const auto said = from.broadcast();
    if (said.empty()) {
        from.leave();
        return std::nullopt;
    }
    const auto line = said.find('\n');
    auto told = privacy::hear(std::string_view(said).substr(line + 1));
    return heard_step{{book.add(std::string_view(said).substr(0, line)), std::move(told.terms), std::move(told.probes)},
                      std::move(told.adapter)};
}

}  // namespace rldp::ranks
