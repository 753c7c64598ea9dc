#pragma once
// What the commands that run experiments share: compare, sweep, tune, protocols.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "eval/experiments/experiment.hpp"
#include "monitor/http/server.hpp"

namespace CLI {
class App;
}

namespace rldp::app {

struct grid_options {
    std::string config, out;  ///< config: of the base
    std::vector<std::string> set, only, collect;
    std::string shard = "1/1";
    int jobs = 1;
    bool json = false, quiet = false, audit = false;
    monitor::http_options dashboard;
};

/// What all cells begin from.
void add_base_options(CLI::App& command, grid_options& given);
/// How they are run and shown.
void add_running_options(CLI::App& command, grid_options& given);
/// Those, and which of them, for grids whose cells may be run on several machines.
void add_grid_options(CLI::App& command, grid_options& given, const std::string& axes);

/// --out, or runs/NAME-OF-FILE-KIND.
std::filesystem::path find_directory(const grid_options& given, const std::filesystem::path& file,
                                     const std::string& kind);

/// Shows what goes on below `directory` to browsers while it lives, and says where; null where nobody asked.
std::unique_ptr<monitor::http_server> show_dashboard(const monitor::http_options& how,
                                                     const std::filesystem::path& directory);

/// For a shell, so that it can be given again; `command` is what follows rldp but for the shared options.
std::string make_command_line(const grid_options& given, const std::filesystem::path& out,
                              const std::vector<std::string>& command);

/// Claims `out` for the experiment, takes over what --collect names, and runs what is not done yet while a dashboard
/// shows it.
eval::experiment_outcome carry_out(const grid_options& given, const eval::experiment& what,
                                   const std::filesystem::path& out);
/// Of this invocation's cells, those that are not done or, where attacks were asked for, not attacked.
std::size_t count_failed(const eval::experiment_outcome& came, const std::filesystem::path& out);
/// The exit status, after saying on standard error how to go on; `see` is where failures are told.
int find_status(bool finished, std::size_t failed, const std::filesystem::path& see, const std::string& command);

/// All of that, and writes and prints what the cells say. Answers the exit status: 0 where none failed.
int run_experiment(const grid_options& given, const eval::experiment& what, const std::filesystem::path& out,
                   const std::vector<std::string>& command);

}  // namespace rldp::app
