#pragma once
// A whole run from the outside: what `rldp run` calls.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "actors/display.hpp"
#include "monitor/http/server.hpp"
#include "privacy/keys/signing_key.hpp"
#include "run/artifacts/summary.hpp"
#include "run/session.hpp"

namespace rldp::actors {

struct launch_options {
    std::string name;                                           ///< what watchers see
    std::optional<monitor::http_config> monitor = {};           ///< where `rldp monitor` attaches: this machine alone
    std::optional<monitor::http_config> dashboard = {};         ///< where browsers find the run
    std::string program_version = {};                           ///< that the dashboard tells
    std::function<void(const std::string&)> on_dashboard = {};  ///< gets its address; empty: nobody asks
    show display = {};                                          ///< of this process, at most once a second; empty: none
    show progress = {};  ///< gets every step as it is logged, whatever the clock; empty: none
    std::function<void(const run_plan&)> on_plan = {};      ///< once everything is read and planned
    std::shared_ptr<const privacy::signing_key> sign = {};  ///< signs the certificate; null: unsigned
    std::function<void()> on_cut = [] {};                   ///< a signal ends the process at once: its last words
};

/// Serves the run's public side where asked to, opens the run, runs it, and writes adapter, summary and report. SIGINT
/// and SIGTERM end it resumable. Errors: as create_run and resume_run; bad_input for a port in use; failed with the
/// cause if an actor failed.
eval::run_summary launch(const std::function<opened_run()>& open, const launch_options& options);

}  // namespace rldp::actors
