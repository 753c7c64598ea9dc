#pragma once
// The public side of a run that never was.
#include <cstdint>
#include <filesystem>

#include "config/config.hpp"
#include "run/artifacts/metrics.hpp"

namespace rldp::testing {

struct made_up {
    std::int64_t steps = 5, planned = 10;  ///< done and planned
    bool over = false;                     ///< its summary and certificate are there
    std::size_t cards = 0;                 ///< of a deck, dealt one for each of the steps; 0: none
};

/// A directory with public/: config.json, ledger.jsonl, metrics.jsonl and, where it is over, summary.json and
/// certificate; ε = 2.
void make_run(const std::filesystem::path& directory, const made_up& how = {});
eval::metrics_line make_line(std::int64_t step);

}  // namespace rldp::testing
