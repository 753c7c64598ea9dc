#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/kinds.hpp"
#include "base/output.hpp"
#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "eval/experiments/comparison_files.hpp"
#include "eval/experiments/owner_page.hpp"
#include "eval/experiments/progress.hpp"
#include "eval/experiments/shards.hpp"
#include "models/architecture/model_config.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::app {

namespace {

struct compare_arguments : grid_options {
    eval::compare_options grid;
};

std::vector<std::string> list_arguments(const eval::compare_options& given) {
    std::vector<std::string> out = {"--methods", given.methods, "--epsilons", given.epsilons, "--seeds", given.seeds};
    if (given.tune_lr.empty()) return out;
    out.insert(out.end(), {"--tune-lr", given.tune_lr, "--tune-seeds", given.tune_seeds});
    if (given.tune_records) out.insert(out.end(), {"--tune-records", std::to_string(*given.tune_records)});
    return out;
}

std::vector<eval::measured> measure(const std::vector<eval::compare_cell>& cells, const std::filesystem::path& out) {
    std::vector<eval::measured> all;
    for (const auto& one : cells) all.push_back({one, eval::read_result({out, one.run.id})});
    return all;
}

std::vector<eval::compare_cell> at_own_rates(const eval::compare_plan& plan, const std::filesystem::path& out) {
    return eval::tuned_cells(plan, eval::chosen(eval::tunings(plan, measure(plan.cells, out))));
}

bool run_stage(std::vector<eval::compare_cell> cells, eval::stage when, const eval::selection& chosen,
               const compare_arguments& given, const std::filesystem::path& out) {
    std::erase_if(cells, [&](const auto& one) { return one.when != when; });
    const auto runs = chosen_runs(eval::take_shard(cells, eval::shard_from(given.shard)), chosen);
    auto how = make_run_settings(given, out);
    if (when == eval::stage::tuning) how.audit = false;  // on made-up records there is nobody to betray
    return eval::run_cells(runs, how, eval::progress_on_terminal(runs.size(), out, given.quiet));
}

/// All methods at one rate: where the configuration leaves it open, the one that a run would choose.
void settle_rate(compare_arguments& given) {
    const auto base = eval::load_configuration(given.config, given.set);
    if (base.train.lr) return;
    const auto width = models::read_model_config(base.model.path).width;
    given.set.push_back(fmt::format("train.lr={}", config::rate_for(base, width)));
}

int run(compare_arguments given) {
    settle_rate(given);
    const auto plan = eval::plan_compare(given.grid, eval::make_resolver(given.config, given.set));
    const auto chosen = eval::selection_from(given.only, plan.what.axes);
    const auto shard = eval::shard_from(given.shard);
    const auto out = find_directory(given, "compare");
    eval::claim_directory(out, plan.what);
    const append_file lock(out / "grid.lock");
    collect_shards(given, out, plan.what);
    const auto dashboard = shown(given.dashboard, out);

    const auto run_all = [&](const std::vector<eval::compare_cell>& of, eval::stage when) {
        return run_stage(of, when, chosen, given, out);
    };
    bool finished = run_all(plan.cells, eval::stage::common) && run_all(plan.cells, eval::stage::tuning);
    auto cells = plan.cells;
    const auto tuned = at_own_rates(plan, out);
    cells.insert(cells.end(), tuned.begin(), tuned.end());
    finished = finished && run_all(tuned, eval::stage::tuned);

    const auto command = command_line("compare", given, out, list_arguments(given.grid));
    const auto report = eval::make_report(plan, measure(cells, out), command);
    eval::write_files(out, report);
    eval::write_owner_files(out, eval::read_owned(out, chosen_runs(cells)));
    say_text(given.json ? eval::compare_json(report) : eval::compare_text(report));
    if (!given.json) print_pages(out, "compare");
    return grid_status(finished, out, chosen_runs(eval::take_shard(cells, shard), chosen), command);
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
        "A comparison that was written down beforehand: rldp compare --protocol FILE (docs/experiments.md)\n"
        "Called again with the same --out it keeps finished cells and resumes interrupted ones.\n"
        "Exit status: 0 all cells done, 1 a cell failed, 2 bad input, 130 interrupted (call again)");
    command->callback([given, &chosen] { chosen = [given] { return run(*given); }; });
}

}  // namespace rldp::app
