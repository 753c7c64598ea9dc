#pragma once
// Charges for tests and benchmarks that need a step order or a release: out of real ledgers, for nothing else makes
// one.
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <map>
#include <string>

#include "privacy/release.hpp"

namespace rldp::testing {

/// A header that a ledger accepts, for steps of any multiplier.
inline privacy::ledger_header scratch_header() {
    privacy::ledger_header header;
    header.delta = 1e-5;
    header.sample_rate = 0.01;
    header.population = 1000;
    header.steps = 1'000'000;
    header.policy = "fixed";
    header.accountant = "pld";
    header.unit = "record";
    header.split = "hash";
    header.epsilon_budget = header.epsilon_guaranteed = 1;
    return header;
}

/// The charge of `seq` (from 1), which is also its step, in a ledger whose every charge is at `noise_multiplier`.
inline privacy::charge charged_at(std::uint64_t seq, double noise_multiplier = 1) {
    static std::map<double, privacy::ledger> ledgers;
    auto found = ledgers.find(noise_multiplier);
    if (found == ledgers.end()) {
        auto name = (std::filesystem::temp_directory_path() / "rldp-ledger-XXXXXX").string();
        ::close(::mkstemp(name.data()));
        found = ledgers.emplace(noise_multiplier, privacy::ledger::create(name, scratch_header())).first;
        std::filesystem::remove(name);  // it stays open
    }
    auto& ledger = found->second;
    for (auto next = ledger.content().charges.size() + 1; next <= seq; ++next)
        ledger.append(static_cast<std::int64_t>(next), noise_multiplier, ledger.content().header.sample_rate,
                      std::nullopt);
    return ledger.content().charges[seq - 1];
}

/// `count` looks at `noise_multiplier`, each at a step of its own, in a ledger; 0: of a run that promises nothing.
inline privacy::ledger_content looked_at(std::int64_t count, double noise_multiplier) {
    auto header = scratch_header();
    header.held_out = publication::noised;
    header.looks = {count, noise_multiplier};
    if (noise_multiplier == 0)
        header.epsilon_budget = header.epsilon_guaranteed = std::numeric_limits<double>::infinity();
    auto name = (std::filesystem::temp_directory_path() / "rldp-ledger-XXXXXX").string();
    ::close(::mkstemp(name.data()));
    auto ledger = privacy::ledger::create(name, header);
    std::filesystem::remove(name);  // it stays open
    for (std::int64_t look = 1; look <= count; ++look) {
        ledger.append_look(look - 1);
        ledger.append(look, 1, header.sample_rate, std::nullopt);
    }
    return ledger.content();
}

/// A release to be filled in.
inline privacy::release blank_release(std::uint64_t seq = 1, double noise_multiplier = 1) {
    return {charged_at(seq, noise_multiplier), {}, {}, {}};
}

}  // namespace rldp::testing
