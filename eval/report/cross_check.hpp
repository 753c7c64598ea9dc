#pragma once
// Configuration, summary and ledger of a run tell the same story, or one of them was edited (docs/privacy.md §10).
#include <filesystem>

#include "eval/report/report.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::eval {

/// Of the configuration in that file: budget, δ, unit, split, semantics, policy, accountant, population, steps, B/N
/// and, for a deck, the cards that it makes and the order of its blocks. Errors: bad_input naming key and both values.
void check_configuration(const std::filesystem::path& file, const privacy::ledger_content& book);

/// What the summary repeats of the header; that a run called done has charged its last step; and, of a run that is
/// over, ε of the charges under every accountant. Errors: as above.
void check_summary(const run_summary& summary, const privacy::ledger_content& book);

}  // namespace rldp::eval
