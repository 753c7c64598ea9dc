#pragma once
// What a run leaves behind once its actors have ended.
#include "actors/session.hpp"
#include "eval/report.hpp"
#include "messages/values.hpp"

namespace rldp::actors {

/// Writes public/adapter, summary.json and report.html, and returns the summary. A run that is over erases its key,
/// release log and checkpoint; an interrupted one keeps them.
eval::run_summary finish_run(const session& run, const messages::outcome& ended);

}  // namespace rldp::actors
