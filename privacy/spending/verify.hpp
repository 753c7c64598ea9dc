#pragma once
// What a ledger is worth to someone who has only the ledger: everything it promises, recomputed from its own numbers.
// Against someone who edits a ledger and recomputes its hashes, that proves nothing: a signed certificate does
// (docs/privacy.md §10).
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

struct ledger_verdict {
    double epsilon_guaranteed;  ///< recomputed from the header alone: policy, deck, rate, steps, δ
    double looks_epsilon;       ///< of the looks at held-out units, which it bounds, too; 0 without any
    double epsilon_spent;       ///< of the charges, priced by their realised multipliers: no guarantee
};

/// Prices again what the header promises, and replays every charge into the policy that the header names.
/// Errors: bad_input where the promise is below what the header's own numbers compose to, or clearly above it, or above
/// the budget, or where a charge is none that the policy grants.
ledger_verdict verify(const ledger_content& content);

}  // namespace rldp::privacy
