#pragma once
// Configuration, summary and ledger of a run tell the same story, or one of them was edited (docs/privacy.md §10).
#include "config/config.hpp"
#include "eval/report/report.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::eval {

/// Budget, δ, unit, split, semantics, policy, accountant, population, steps, B/N and, for a deck, the cards that the
/// configuration makes and the order of its blocks. Errors: bad_input naming key and both values.
void check_same(const config::run_config& config, const privacy::ledger_content& book);

/// What the summary repeats of the header; that a run called done has charged its last step; and, of a run that is
/// over, ε of the charges under every accountant. Errors: as above.
void check_same(const run_summary& summary, const privacy::ledger_content& book);

}  // namespace rldp::eval
