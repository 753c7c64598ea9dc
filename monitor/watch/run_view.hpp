#pragma once
// A run as its public side shows it.
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/interval.hpp"

namespace rldp::monitor {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// What its owner promised, from the ledger's first line: it stands before the first step.
struct contract_view {
    bool any = false;                          ///< false: nothing is guaranteed
    std::string headline;                      ///< HTML; one sentence
    std::vector<std::string> holds, does_not;  ///< HTML sentences
    double epsilon_budget = unknown, delta = unknown, epsilon_guaranteed = unknown;
    std::string unit, policy, accountant;
    struct level {
        double noise_multiplier = unknown;
        std::int64_t steps = 0;  ///< planned
    };
    std::vector<level> deck;  ///< rising; empty without one
};

struct run_view {
    std::string id;     ///< unique among the runs shown; letters, digits, . _ ~ + -
    std::string name;   ///< its directory's, below the one that was named; unique, too
    std::string title;  ///< run.name; empty: none
    std::vector<std::string> tags;
    std::string notes;
    std::string state;    ///< as telemetry's, or "silent" (unfinished, and no process here writes it), or "damaged"
    std::string problem;  ///< why it is shown as damaged, or what of it can't be read; one line, or nothing
    std::string version, method, model, data;  ///< empty: not known; model and data without their directories
    std::int64_t step = 0, steps = 0;          ///< done and planned
    std::int64_t evaluated_step = 0;
    double loss = unknown;  ///< as released, nats
    double perplexity = unknown, perplexity_before = unknown, value_nats = unknown;
    std::optional<eval::interval> perplexity_in;  ///< where it lies with 95 %, of a look
    std::string held_out;                         ///< what is published of held-out units: private, none or raw
    double noise_multiplier = unknown, epsilon_spent = unknown;
    std::int64_t progress_step = 0;  ///< as of which progress is; 0: none yet
    std::optional<contract_view> contract;
    std::string ledger_head;          ///< hash of its last entry
    std::vector<std::string> groups;  ///< adapters, once the summary tells them
    std::vector<std::string> controller, warnings;
    bool has_report = false, has_certificate = false;  ///< pages to read, once the run has ended
};

/// Whether nothing more will come.
inline bool is_over(const run_view& run) {
    return run.state == "done" || run.state == "budget exhausted" || run.state == "interrupted" ||
           run.state == "failed" || run.state == "damaged";
}

}  // namespace rldp::monitor
