#pragma once
// What a tuning's directory is worth to someone who has only its public files (docs/privacy.md §15): one account, and
// the runs that it pays for.
#include <filesystem>
#include <optional>
#include <vector>

#include "eval/report/certificate.hpp"
#include "privacy/spending/account.hpp"

namespace rldp::eval {

struct verified_account {
    privacy::run_account account;
    double epsilon_spent = 0;  ///< of all charges of all runs, as one composition
    std::vector<finding> checked, not_checked;
};

/// Whether `directory` has an account.
bool holds_account(const std::filesystem::path& directory);

/// The account, each run that it names (verify_run of those that have ended, else verify_run_ledger), that all have the
/// account's plan, that there are no others beside them, and that all their charges and looks together compose to no
/// more than is promised. Errors: bad_input naming what does not fit.
verified_account verify_account(const std::filesystem::path& directory,
                                const std::optional<privacy::verifying_key>& owner);

}  // namespace rldp::eval
