#include "privacy/spending/budget.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/kinds.hpp"
#include "privacy/accounting/pld/pld.hpp"

namespace rldp::privacy {

namespace {

/// Progress is shown at every decision: a mesh of one per cent is accurate enough there, still a bound, and ten times
/// as fast.
std::unique_ptr<accountant> make_progress_accountant(std::string_view name) {
    return parse_named<accountant_kind>(name) == accountant_kind::pld ? make_pld(1e-2) : make_accountant(name);
}

}  // namespace

budget::budget(std::unique_ptr<spending_policy> policy, ledger opened)
    : policy_(std::move(policy)),
      ledger_(std::move(opened)),
      accountant_(make_progress_accountant(ledger_.content().header.accountant)) {
    for (const auto& past : ledger_.content().charges)
        policy_->replay(past->step, {past->noise_multiplier, past->card});
}

std::optional<charge> budget::grant(std::int64_t step, double requested) {
    const auto granted = policy_->next(step, requested);
    if (!granted) return std::nullopt;
    return ledger_.append(step, granted->noise_multiplier, ledger_.content().header.step_rate(), granted->card);
}

std::optional<look_charge> budget::grant_look(std::int64_t step) {
    const auto& content = ledger_.content();
    if (std::ssize(content.looks) >= content.header.looks.count || content.look_at(step)) return std::nullopt;
    return ledger_.append_look(step);
}

double budget::epsilon_spent() const {
    return epsilon_spent(ledger_.content().phases());
}

double budget::epsilon_spent(std::size_t charges) const {
    return epsilon_spent(ledger_.content().phases(charges));
}

double budget::epsilon_spent(const std::vector<phase>& phases) const {
    if (phases.empty()) return 0;
    const auto& header = ledger_.content().header;
    // A prefix costs no more than the whole plan may; the coarse mesh must not say otherwise.
    return std::min(accountant_->epsilon(phases, header.mechanism_delta()), header.epsilon_guaranteed);
}

}  // namespace rldp::privacy
