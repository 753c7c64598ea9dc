#pragma once
// The one account of several runs that a budget pays for together, those of a tuning (docs/privacy.md §15): what all of
// them promise, and which of them were begun. It is public. Its lines are a ledger's: canonical JSON, chained by
// hashes.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

struct run_account {
    /// A run that was begun.
    struct entry {
        std::string run;         ///< its directory, as seen from the account's
        std::string ledger;      ///< hash of its ledger's header
        std::string prev, hash;  ///< as a ledger_line's
    };
    ledger_header header;  ///< the first run's; every run's is the same but for data_hmac
    std::string header_hash;
    std::vector<entry> runs;  ///< at most header.runs

    std::string last_hash() const { return runs.empty() ? header_hash : runs.back().hash; }
    const entry* find(std::string_view run) const;
    /// Whether a run's budget, plan and looks are those of all, up to what another processor's arithmetic may change.
    bool covers(const ledger_header& run) const;
    /// What a budget book knows of it: a promise, and no charge of its own.
    ledger_content promise() const;
};

std::filesystem::path locate_account(const std::filesystem::path& directory);

/// Errors: bad_input with the line number, for an edited line, a run twice, or more runs than it pays for. A last line
/// without its end counts for nothing: its run had charged nothing yet.
run_account read_account(const std::filesystem::path& file);

/// A run that is to be one of an account's.
struct account_claim {
    std::string name;  ///< its directory, as seen from the account's: below it, in UTF-8
    const ledger_content& ledger;
    std::filesystem::path mark;  ///< a file of the run's own, which knows its last start
    std::string data_digest;     ///< of its training records
    std::string split;           ///< digest of all units on their sides
};

/// The account of a tuning's directory, which a run is in or may be entered in; where there is none, one with the run's
/// header and no run. Errors: bad_input where the directory is no tuning's, where a run that was started is missing
/// from the account, where the plan is not the run's or its data and split are not those of the first, where the name
/// was begun with another ledger, where the run has charged what the account's last start of it does not know of, and
/// where no further run is paid for.
run_account open_account(const std::filesystem::path& directory, const account_claim& run);

/// Enters that it begins, before its first charge, or goes on. Errors: as open_account.
void enter_account(const std::filesystem::path& directory, const account_claim& run);

}  // namespace rldp::privacy
