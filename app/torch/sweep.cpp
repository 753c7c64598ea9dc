#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "eval/experiments/sweep.hpp"

namespace rldp::app {

namespace {

struct sweep_arguments : grid_options {
    std::vector<std::string> grid;
    std::string seeds;
};

int run(const sweep_arguments& given) {
    const auto plan = eval::plan_sweep(given.grid, given.seeds, eval::make_resolver(given.config, given.set));
    std::vector<std::string> command = {"sweep", given.config};
    for (const auto& text : given.grid) command.insert(command.end(), {"--grid", text});
    if (!given.seeds.empty()) command.insert(command.end(), {"--seeds", given.seeds});
    return run_experiment(given, eval::make_experiment(plan), find_directory(given, given.config, plan.what.kind),
                          command);
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
