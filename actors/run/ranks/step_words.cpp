#include "actors/run/ranks/step_words.hpp"

#include "privacy/methods/told_order.hpp"

namespace rldp::ranks {

namespace {

constexpr std::string_view end_of_lines = "\n\n";  // no line of a ledger is empty

}  // namespace

void tell_step(team& to, const privacy::step_order& order, const at::Tensor& adapter) {
    to.broadcast(privacy::format_charge(order.charged) + std::string(end_of_lines) +
                 privacy::serialize_step({order.terms, order.probes, adapter}));
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
    const std::string_view all = said;
    const auto lines = all.find(end_of_lines);
    auto told = privacy::parse_step(all.substr(lines + end_of_lines.size()));
    return heard_step{{book.add(all.substr(0, lines)), std::move(told.terms), std::move(told.probes)},
                      std::move(told.adapter)};
}

}  // namespace rldp::ranks
