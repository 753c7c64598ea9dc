#pragma once
// The run log of a run that goes on.
#include <cstdint>
#include <vector>

#include "actors/run/outcome.hpp"
#include "eval/metrics/metrics.hpp"
#include "eval/report/run_directory.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::actors {

/// Its lines as they stood, to the checkpoint's step: the later ones are made again, these can't be. `accept_lost`:
/// empty ones stand for those that are gone. Errors: bad_input naming the first that is damaged, another run's or gone.
std::vector<eval::metrics_line> known_lines(const eval::run_directory& where, const privacy::ledger_content& book,
                                            std::int64_t checkpointed, bool accept_lost);

bool evaluated(const std::vector<eval::metrics_line>& lines, std::int64_t step);
evaluations evaluations_in(const std::vector<eval::metrics_line>& lines);

}  // namespace rldp::actors
