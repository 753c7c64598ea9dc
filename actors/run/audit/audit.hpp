#pragma once
// Attacks on a run: reads both sides, answers a report for the data owner. No CAF; the auditor actor is a shell around
// it.
#include <filesystem>
#include <vector>

#include "actors/run/audit/audited_run.hpp"
#include "eval/audit/report/report.hpp"

namespace rldp::actors {

/// Every attack that the run allows, on the adapter that was read. `shadows`: finished runs with audit.shadow 0, 1, …
eval::audit_report audit(const audited_run& run, const std::vector<std::filesystem::path>& shadows);

/// trusted/audit/: audit.json, audit.txt and audit.html, each whole or not at all. Answers the page's path.
std::filesystem::path write_audit(const eval::run_directory& where, const eval::audit_report& report);

}  // namespace rldp::actors
