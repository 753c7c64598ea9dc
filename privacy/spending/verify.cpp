#include "privacy/spending/verify.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"

namespace rldp::privacy {
namespace {

constexpr double rounding = 1e-6;  // relative: another processor's transforms round differently
// Relative: how much less than the header says its numbers may compose to. fixed is calibrated anew, and calibration
// ends within 1e-3 of ε; a deck is priced as it stands, where another version's mesh may be finer, and pld's bound lies
// at most 1.5e-4 above the exact ε. A filter's guarantee is its budget, to the bit. Whoever is told more than this too
// much is told another mechanism's ε.
constexpr double clearly = 1e-3;

/// The policy as the header describes it.
std::unique_ptr<spending_policy> replayed(const ledger_content& content) {
    auto policy = make_policy(parse_named<policy_kind>(content.header.policy), to_spending_plan(content.header));
    for (const auto& line : content.charges) policy->replay(line->step, {line->noise_multiplier, line->card});
    return policy;
}

double price_of_deck(const ledger_header& header) {
    const auto price = make_accountant(header.accountant);
    if (!price->is_upper_bound())
        refuse(fmt::format("ledger: accountant {} can under-report and guarantees nothing", price->name()));
    return price->epsilon(repeat(priced_phases(header.deck, header.sample_rate, header.steps), header.runs),
                          header.mechanism_delta());
}

double promised(const ledger_content& content) {
    // A deck's cards are in the header, and read_ledger has dealt them; the others make their promise from the plan.
    if (parse_named<policy_kind>(content.header.policy) == policy_kind::deck) return price_of_deck(content.header);
    return replayed(content)->epsilon_guaranteed();
}

}  // namespace

ledger_verdict verify(const ledger_content& content) {
    const auto& header = content.header;
    const double recomputed = promised(content);
    if (header.epsilon_guaranteed < recomputed * (1 - rounding))
        refuse(
            fmt::format("ledger: the header promises ε {} at δ {}, its own {} policy composes to {}; do not rely on it",
                        header.epsilon_guaranteed, header.delta, header.policy, recomputed));
    if (header.epsilon_guaranteed > recomputed * (1 + clearly))
        refuse(
            fmt::format("ledger: the header promises ε {} at δ {}, its own {} policy composes to {}, clearly less: the "
                        "header is not "
                        "of this plan",
                        header.epsilon_guaranteed, header.delta, header.policy, recomputed));
    if (std::isfinite(header.epsilon_guaranteed) && header.epsilon_guaranteed > header.epsilon_budget * (1 + rounding))
        refuse(fmt::format("ledger: guaranteed ε {} exceeds the budget {} of the same header; do not rely on it",
                           header.epsilon_guaranteed, header.epsilon_budget));
    // The same (ε, δ) for the other side of the split, at all of δ (docs/privacy.md §13).
    const double of_looks = header.guarantee().holds() ? compute_epsilon(header.all_looks(), header.delta) : 0;
    if (of_looks > header.epsilon_guaranteed * (1 + rounding))
        refuse(
            fmt::format("ledger: {} looks at held-out units at noise multiplier {} compose to ε {} at δ {}, and the "
                        "header promises {}; do not rely on it",
                        header.all_looks().count, header.looks.noise_multiplier, of_looks, header.delta,
                        header.epsilon_guaranteed));
    const auto phases = content.phases();
    return {recomputed, of_looks,
            phases.empty() ? 0 : make_accountant(header.accountant)->epsilon(phases, header.mechanism_delta())};
}

}  // namespace rldp::privacy
