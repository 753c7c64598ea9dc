#include "eval/report/tuning.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/kinds.hpp"
#include "privacy/spending/verify.hpp"

namespace rldp::eval {
namespace {

namespace fs = std::filesystem;

constexpr double rounding_slack = 1e-6;  // relative: another processor's transforms round differently

/// The ledger of a run that the account names.
privacy::ledger_content read_named(const fs::path& directory, const privacy::run_account& account,
                                   const privacy::run_account::entry& named,
                                   const std::optional<privacy::verifying_key>& owner, std::size_t& ended) {
    const run_directory run{directory / named.run};
    if (!fs::exists(run.ledger()))
        refuse(fmt::format("{}: {} was begun, and its public/ledger.jsonl is missing; bring its directory back",
                           privacy::locate_account(directory).string(), named.run));
    if (fs::exists(run.certificate())) {
        verify_run(run, owner);
        ++ended;
    }
    auto ledger = std::move(verify_run_ledger(run).ledger);
    if (ledger.header_hash != named.ledger)
        refuse(fmt::format("{}: is not the ledger that {} was begun with", run.ledger().string(), named.run));
    if (!account.covers(ledger.header))
        refuse(fmt::format("{}: its plan is not the account's, and all runs of a tuning have one price",
                           run.ledger().string()));
    return ledger;
}

/// Where runs lie by the account, and where `rldp tune` puts them, whatever the account says.
std::set<fs::path> list_places(const fs::path& directory) {
    std::set<fs::path> out;
    for (const auto& one : privacy::read_account(privacy::locate_account(directory)).runs)
        out.insert((directory / one.run).parent_path());
    if (const auto cells = directory / "cells"; fs::is_directory(cells)) out.insert(cells);
    return out;
}

/// Runs that charged. One that was cut before it was entered has a ledger of nothing.
std::vector<fs::path> list_charged(const fs::path& directory) {
    std::vector<fs::path> out;
    for (const auto& place : list_places(directory)) {
        if (!fs::is_directory(place)) continue;
        for (const auto& entry : list_entries(place)) {
            const auto ledger = run_directory{entry.path()}.ledger();
            if (!fs::exists(ledger)) continue;
            const auto found = privacy::read_ledger(ledger);
            if (!found.charges.empty() || !found.looks.empty() || found.torn) out.push_back(entry.path());
        }
    }
    return out;
}

void refuse_strangers(const std::vector<fs::path>& charged, const fs::path& directory,
                      const privacy::run_account& account) {
    for (const auto& one : charged)
        if (!account.find(one.lexically_relative(directory).generic_string()))
            refuse(fmt::format("{}: charged steps or looks and is not in {}: a run more than was paid for",
                               one.string(), privacy::locate_account(directory).string()));
}

}  // namespace

bool holds_account(const fs::path& directory) {
    return fs::exists(privacy::locate_account(directory));
}

verified_account verify_account(const fs::path& directory, const std::optional<privacy::verifying_key>& owner) {
    verified_account out;
    const auto charged_before = list_charged(directory);  // a run is entered before its first charge
    out.account = privacy::read_account(privacy::locate_account(directory));
    refuse_strangers(charged_before, directory, out.account);
    const auto& header = out.account.header;
    const auto promised = privacy::verify(out.account.promise());
    out.checked.push_back(
        {"account", fmt::format("{} of {} runs begun, in an unbroken chain", out.account.runs.size(), header.runs)});
    std::vector<privacy::phase> charged;
    std::int64_t steps = 0, looks = 0;
    std::size_t ended = 0;
    for (const auto& named : out.account.runs) {
        const auto ledger = read_named(directory, out.account, named, owner, ended);
        const auto phases = ledger.phases();
        charged.insert(charged.end(), phases.begin(), phases.end());
        steps += std::ssize(ledger.charges);
        looks += std::ssize(ledger.looks);
    }
    out.checked.push_back(
        {"runs", fmt::format("each has the account's plan; {} ended, with a certificate that fits", ended)});
    const double delta = header.mechanism_delta();
    if (!charged.empty()) out.epsilon_spent = privacy::make_accountant(header.accountant)->epsilon(charged, delta);
    const double looked = privacy::compute_epsilon({looks, header.looks.noise_multiplier}, header.delta);
    if (header.guarantee().holds()) {
        for (const double spent : {out.epsilon_spent, looked})
            if (spent > header.epsilon_guaranteed * (1 + rounding_slack))
                refuse(fmt::format(
                    "{}: the runs together spent ε {:.6g} at δ {:g}, and {:.6g} is promised; do not rely "
                    "on it",
                    privacy::locate_account(directory).string(), spent, header.delta, header.epsilon_guaranteed));
        out.checked.push_back(
            {"guarantee", fmt::format("{} runs of this plan compose to ε {:.6g} at δ {:g}, their looks to {:.6g}; "
                                      "promised is {:.6g}",
                                      header.runs, promised.epsilon_guaranteed, header.delta, promised.looks_epsilon,
                                      header.epsilon_guaranteed)});
    }
    out.checked.push_back({"charges", fmt::format("{} steps of all runs compose to ε {:.6g}, {} looks to {:.6g}", steps,
                                                  out.epsilon_spent, looks, looked)});
    if (ended < out.account.runs.size())
        out.not_checked.push_back({"runs", fmt::format("{} that have not ended", out.account.runs.size() - ended)});
    out.not_checked.push_back(
        {"forgery", "whoever edits all files can recompute every hash; the runs' signed certificates show that"});
    out.not_checked.push_back(
        {"cut runs", "some that were cut from the account's end, together with their directories"});
    out.not_checked.push_back({"other runs", "what else was released about the same data, in directories elsewhere"});
    return out;
}

}  // namespace rldp::eval
