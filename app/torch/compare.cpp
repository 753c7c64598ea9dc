#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/error.hpp"
#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "eval/experiments/compare_grid.hpp"
#include "models/weights.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/resolve.hpp"

namespace rldp::app {

namespace {

struct compare_arguments : grid_options {
    eval::compare_options grid;
};

std::vector<std::string> list_command(const compare_arguments& given) {
    const auto& grid = given.grid;
    std::vector<std::string> out = {"compare",    given.config,  "--methods", grid.methods,
                                    "--epsilons", grid.epsilons, "--seeds",   grid.seeds};
    if (grid.tune_lr.empty()) return out;
    out.insert(out.end(), {"--tune-lr", grid.tune_lr, "--tune-seeds", grid.tune_seeds});
    if (grid.tune_records) out.insert(out.end(), {"--tune-records", std::to_string(*grid.tune_records)});
    return out;
}

/// All methods at one rate: where the configuration leaves it open, the one that a run of so many steps would choose,
/// or of as few as a plan of three epochs has.
void settle_rate(compare_arguments& given) {
    const auto base = eval::load_configuration(given.config, given.set);
    if (base.train.lr) return;
    if (const auto who = base.train.optimizer; finds_its_rate(who))
        refuse(
            fmt::format("train.optimizer: {} takes no learning rate, and compare puts all methods at one; leave it "
                        "out, or name it in an arm of a protocol (--protocol)",
                        name_of(who)));
    const auto model = models::read_model(base.model.path);
    const auto steps = base.train.steps.value_or(config::least_steps);
    given.set.push_back(
        fmt::format("train.lr={}", config::rate_for(base, steps, actors::describe_adapted(base, model))));
}

int run(compare_arguments given) {
    settle_rate(given);
    const auto plan = eval::plan_compare(given.grid, eval::make_resolver(given.config, given.set));
    return run_experiment(given, eval::make_experiment(plan), find_directory(given, given.config, plan.what.kind),
                          list_command(given));
}

}  // namespace

void add_compare(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "compare");
    auto given = std::make_shared<compare_arguments>();
    auto& grid = given->grid;
    add_base_options(*command, *given);
    command->add_option("--methods", grid.methods, "comma list of methods, or all, or controls (default all)");
    command->add_option("--epsilons", grid.epsilons, "comma list of budgets ε (default 0.5,2,4,5,8)");
    command->add_option("--seeds", grid.seeds, "comma list of seeds (default 0,1,2)");
    command->add_option("--tune-lr", grid.tune_lr,
                        "also give each method its best of these learning rates, chosen on made-up data");
    command->add_option("--tune-seeds", grid.tune_seeds, "seeds of the choice (default 100)");
    command
        ->add_option("--tune-records", grid.tune_records,
                     "made-up records of the choice (default: as many as give privacy.population, else 6000)")
        ->check(CLI::Range(std::int64_t{1}, limits::most_synthetic_records));
    add_grid_options(*command, *given, "method, epsilon, seed, stage, tune_lr, tune_seed");
    command->footer(
        "Example: rldp compare config/demo.json --methods static,dp_lora,rldp --epsilons 2,8 --seeds 0,1 --jobs 2\n"
        "A comparison that was written down beforehand: rldp compare --protocol FILE (research/protocols.md)\n"
        "Called again with the same --out it keeps finished cells and resumes interrupted ones.\n"
        "Exit status: 0 all cells done, 1 a cell failed, 2 bad input, 130 interrupted (call again)");
    command->callback([given, &chosen] { chosen = [given] { return run(*given); }; });
}

}  // namespace rldp::app
