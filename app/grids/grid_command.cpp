#include "app/grids/grid_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/http_options.hpp"
#include "app/words.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/run.hpp"
#include "eval/experiments/shards.hpp"
#include "version.hpp"

namespace rldp::app {

void add_base_options(CLI::App& command, grid_options& given) {
    command.add_option("config", given.config, "configuration file of the base (JSON)")->required();
    command.add_option("--set", given.set, "override a key of the base: dotted.key=json, repeatable")
        ->allow_extra_args(false);
}

void add_running_options(CLI::App& command, grid_options& given) {
    command.add_option("--jobs", given.jobs, "cells at a time, a process each (default 1)")->check(CLI::Range(1, 1024));
    command.add_option("--out", given.out, "directory of the grid; one that holds this grid is gone on with");
    command.add_option("--dashboard", given.dashboard.address, "show the grid to browsers at [HOST:]PORT");
    add_access_options(command, given.dashboard);
    command.add_flag("--json", given.json, "print the numbers as JSON");
    command.add_flag("--quiet", given.quiet, "no progress");
}

void add_grid_options(CLI::App& command, grid_options& given, const std::string& axes) {
    command.add_option("--only", given.only, "run only these cells now: axis=v1,v2, repeatable; axes: " + axes)
        ->allow_extra_args(false);
    command.add_option("--shard", given.shard, "run the i-th of n parts of the cells, i/n: for several machines");
    command
        .add_option("--collect", given.collect, "take over what another machine's --out holds of this grid, repeatable")
        ->allow_extra_args(false);
    command.add_flag(
        "--audit", given.audit,
        "attack every cell that is done (rldp audit); what was found stands side by side in trusted/owner.html");
    add_running_options(command, given);
}

std::filesystem::path find_directory(const grid_options& given, const std::filesystem::path& file,
                                     const std::string& kind) {
    if (given.out.empty()) return std::filesystem::path("runs") / (file.stem().string() + "-" + kind);
    const auto clean = std::filesystem::path(given.out).lexically_normal();
    return clean.has_filename() ? clean : clean.parent_path();
}

std::unique_ptr<monitor::http_server> show_dashboard(const monitor::http_options& how,
                                                     const std::filesystem::path& directory) {
    if (how.address.empty()) return nullptr;
    auto out =
        std::make_unique<monitor::http_server>(monitor::to_dashboard_config(how), std::vector{directory}, RLDP_VERSION);
    say(stderr, "dashboard: {}\n", out->address());
    return out;
}

std::string make_command_line(const grid_options& given, const std::filesystem::path& out,
                              const std::vector<std::string>& command) {
    std::vector<std::string> all = {"rldp"};
    all.insert(all.end(), command.begin(), command.end());
    for (const auto& text : given.set) all.insert(all.end(), {"--set", text});
    if (given.shard != grid_options{}.shard) all.insert(all.end(), {"--shard", given.shard});
    if (given.jobs > 1) all.insert(all.end(), {"--jobs", std::to_string(given.jobs)});
    if (given.audit) all.emplace_back("--audit");
    all.insert(all.end(), {"--out", out.string()});
    std::string line;
    for (const auto& word : all) line += (line.empty() ? "" : " ") + shell_word(word);
    return line;
}

eval::experiment_outcome carry_out(const grid_options& given, const eval::experiment& what,
                                   const std::filesystem::path& out) {
    const eval::experiment_settings settings{.how = {.config = given.config,
                                                     .set = given.set,
                                                     .out = out,
                                                     .jobs = given.jobs,
                                                     .audit = given.audit,
                                                     .account = what.one_account},
                                             .part = eval::shard_from(given.shard),
                                             .chosen = eval::selection_from(given.only, what.what.axes),
                                             .quiet = given.quiet};
    eval::take_piped_rows(settings.how);  // before anything is written
    eval::claim_directory(out, what.what);
    const append_file lock(out / "grid.lock");
    const auto dashboard = show_dashboard(given.dashboard, out);
    for (const auto& from : given.collect)
        say(stderr, "{}: {} cells collected\n", from, eval::collect(out, what.what, from));
    if (!what.warning.empty()) say(stderr, "{}\n", what.warning);
    return eval::run_experiment(what, settings);
}

std::size_t count_failed(const eval::experiment_outcome& came, const std::filesystem::path& out) {
    return static_cast<std::size_t>(std::count_if(came.own.begin(), came.own.end(), [&](const auto& one) {
        const eval::cell_files files{out, one.id};
        return eval::read_result(files).state != eval::cell_state::done || eval::read_history(files).failure;
    }));
}

int find_status(bool finished, std::size_t failed, const std::filesystem::path& see, const std::string& command) {
    if (!finished) {
        say(stderr, "rldp: interrupted; nothing is lost, go on with: {}\n", command);
        return static_cast<int>(errc::interrupted);
    }
    if (failed == 0) return 0;
    say(stderr, "rldp: {} cell{} failed or did not end (see {}); try again with: {}\n", failed, failed == 1 ? "" : "s",
        see.string(), command);
    return static_cast<int>(errc::failed);
}

int run_experiment(const grid_options& given, const eval::experiment& what, const std::filesystem::path& out,
                   const std::vector<std::string>& command) {
    const auto came = carry_out(given, what, out);
    const auto line = make_command_line(given, out, command);
    const auto files = what.report(came.cells, line);
    eval::write_files(out, what.what.kind, files, came.cells);
    say_text(given.json ? files.json : files.text);
    const auto owner = eval::grid_directory{out}.owner_page();
    if (!given.json)
        say("{}\nfor the owner of the data only: {}\n", (out / (what.what.kind + ".html")).string(), owner.string());
    return find_status(came.finished, count_failed(came, out), owner, line);
}

}  // namespace rldp::app
