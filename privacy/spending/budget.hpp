#pragma once
// Policy, ledger and accountant as one: a step is charged here, durably, before its draw is opened.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/policy.hpp"

namespace rldp::privacy {

class budget {
  public:
    /// Replays the ledger's charges into the policy. Errors: bad_input if they are not what this policy grants.
    budget(std::unique_ptr<spending_policy> policy, ledger opened);

    /// Charges `step` at what the policy grants for `requested` and returns once the ledger holds it; nothing once
    /// exhausted.
    std::optional<charge> grant(std::int64_t step, double requested);

    /// Charges a look with the adapter of `step`, likewise; nothing once the
    /// header's number is reached, or where that step was looked at.
    std::optional<look_charge> grant_look(std::int64_t step);

    /// ε of everything charged so far, priced by the realised multipliers: for orientation, no guarantee.
    double epsilon_spent() const;
    /// The same for the first `charges` of them; a torn one, which only the whole ledger has, is left out.
    double epsilon_spent(std::size_t charges) const;

    const spending_policy& policy() const { return *policy_; }
    const ledger_content& ledger_view() const { return ledger_.content(); }

  private:
    double epsilon_spent(const std::vector<phase>& phases) const;

    std::unique_ptr<spending_policy> policy_;
    ledger ledger_;
    std::unique_ptr<accountant> accountant_;
};

}  // namespace rldp::privacy
