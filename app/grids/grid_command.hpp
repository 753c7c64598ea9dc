#pragma once
// What compare, sweep and protocols share on the command line.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "eval/experiments/grid.hpp"
#include "eval/experiments/run.hpp"
#include "monitor/http/server.hpp"

namespace CLI {
class App;
}

namespace rldp::app {

struct grid_options {
    std::string config, out;
    std::vector<std::string> set, only, collect;
    std::string shard = "1/1";
    int jobs = 1;
    bool json = false, quiet = false, audit = false;
    monitor::http_options dashboard;
};

/// What all cells begin from.
void add_base_options(CLI::App& command, grid_options& given);
void add_grid_options(CLI::App& command, grid_options& given, const std::string& axes);

/// --out, or runs/NAME-OF-CONFIG-KIND.
std::filesystem::path find_directory(const grid_options& given, const std::string& kind);

/// How cells are run for these options.
eval::run_settings make_run_settings(const grid_options& given, const std::filesystem::path& out);

/// Shows what goes on below `directory` to browsers while it lives, and says where; null where nobody asked.
std::unique_ptr<monitor::http_server> shown(const monitor::http_options& how, const std::filesystem::path& directory);

/// A command line for a shell: `words` and the shared options, each quoted where it needs it.
std::string command_line(const std::string& kind, const grid_options& given, const std::filesystem::path& out,
                         const std::vector<std::string>& words);

/// Takes over what --collect names.
void collect_shards(const grid_options& given, const std::filesystem::path& out, const eval::grid& what);

/// The cells that --only leaves; all of them where it is not given.
template <class Cell>
std::vector<eval::cell> chosen_runs(const std::vector<Cell>& cells, const eval::selection& chosen = {}) {
    std::vector<eval::cell> out;
    for (const auto& one : cells)
        if (eval::selects(chosen, one.run)) out.push_back(one.run);
    return out;
}

/// Names the page to pass on, KIND.html, and the owner's.
void print_pages(const std::filesystem::path& out, const std::string& kind);

/// The exit status, after saying on standard error how to go on. `finished`: no signal came; `chosen`: the cells of
/// this invocation, each of which is to be done and, where attacks were asked for, attacked.
int grid_status(bool finished, const std::filesystem::path& out, const std::vector<eval::cell>& chosen,
                const std::string& command);

}  // namespace rldp::app
