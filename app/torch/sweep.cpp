#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/experiments/owner_page.hpp"
#include "eval/experiments/progress.hpp"
#include "eval/experiments/shards.hpp"
#include "eval/experiments/sweep.hpp"

namespace rldp::app {

namespace {

struct sweep_arguments : grid_options {
    std::vector<std::string> grid;
    std::string seeds;
};

std::vector<std::string> list_arguments(const sweep_arguments& given) {
    std::vector<std::string> out;
    for (const auto& text : given.grid) out.insert(out.end(), {"--grid", text});
    if (!given.seeds.empty()) out.insert(out.end(), {"--seeds", given.seeds});
    return out;
}

int run(const sweep_arguments& given) {
    const auto plan = eval::plan_sweep(given.grid, given.seeds, eval::make_resolver(given.config, given.set));
    const auto chosen = eval::selection_from(given.only, plan.what.axes);
    const auto out = find_directory(given, "sweep");
    eval::claim_directory(out, plan.what);
    const append_file lock(out / "grid.lock");
    collect_shards(given, out, plan.what);
    const auto dashboard = shown(given.dashboard, out);

    const auto runs = chosen_runs(eval::take_shard(plan.cells, eval::shard_from(given.shard)), chosen);
    const bool finished =
        eval::run_cells(runs, make_run_settings(given, out), eval::progress_on_terminal(runs.size(), out, given.quiet));

    const auto command = command_line("sweep", given, out, list_arguments(given));
    std::vector<eval::swept> cells;
    for (const auto& one : plan.cells) cells.push_back({one, eval::read_result({out, one.run.id})});
    const auto report = eval::make_report(plan, std::move(cells), command);
    eval::write_files(out, report);
    eval::write_owner_files(out, eval::read_owned(out, chosen_runs(plan.cells)));
    say_text(given.json ? eval::sweep_json(report) : eval::sweep_text(report));
    if (!given.json) print_pages(out, "sweep");
    return grid_status(finished, out, runs, command);
}

}  // namespace

void add_sweep(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "sweep");
    auto given = std::make_shared<sweep_arguments>();
    command->add_option("--grid", given->grid, "a key and its values: dotted.key=v1,v2, repeatable")
        ->required()
        ->allow_extra_args(false);
    command->add_option("--seeds", given->seeds, "comma list of seeds (default: the configuration's own)");
    add_base_options(*command, *given);
    add_grid_options(*command, *given, "the keys of --grid, and seed");
    command->footer(
        "Example: rldp sweep config/demo.json --grid rl.interval=16,32,48 --grid rl.batch=4,8 --seeds 0,1 --jobs 2\n"
        "Called again with the same --out it keeps finished cells and resumes interrupted ones.\n"
        "Exit status: 0 all cells done, 1 a cell failed, 2 bad input, 130 interrupted (call again)");
    command->callback([given, &chosen] { chosen = [given] { return run(*given); }; });
}

}  // namespace rldp::app
