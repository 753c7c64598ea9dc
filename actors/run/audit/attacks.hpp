#pragma once
// One attack each, on an opened run. What can't be done is left out: a line in `left_out` says why and how to get it.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "actors/run/audit/audited_run.hpp"
#include "eval/audit/report/report.hpp"

namespace rldp::actors {

using lines = std::vector<std::string>;

/// With audit.prompt and with the record alone; nothing for a run without canaries.
std::vector<eval::extraction_result> extract(const audited_run& run, lines& left_out);
/// Absent where extract() finds nothing to look for.
std::optional<eval::exposure_result> expose(const audited_run& run);
std::optional<eval::membership_result> guess_members(const audited_run& run, lines& left_out);
/// LiRA with the shadow runs in `directories`, the number of each being its audit.shadow.
std::optional<eval::shadow_result> compare_with_shadows(const audited_run& run,
                                                        const std::vector<std::filesystem::path>& directories,
                                                        lines& left_out);
/// A bound for each kind of canary that the run has; together they hold with audit.confidence.
std::vector<eval::bound_result> bound_epsilon(const audited_run& run, lines& left_out);

}  // namespace rldp::actors
