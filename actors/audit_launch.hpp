#pragma once
// An audit from start to end: reads, spawns the auditor, waits for its reports.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "run/artifacts/run_directory.hpp"

namespace rldp::actors {

struct audit_options {
    bool during_run = false;                     ///< one report for every checkpoint, until the run is over
    std::vector<std::filesystem::path> shadows;  ///< finished shadow runs
    std::vector<std::string> overrides = {};     ///< of how to attack, as open_audited()'s
    std::function<void()> on_report;             ///< the files of trusted/audit are there
};

/// Errors: as open_audited(), before anything is attacked.
void launch_audit(const eval::run_directory& where, const audit_options& options);

}  // namespace rldp::actors
