// rldp compare --protocol: a comparison that was written down beforehand.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/experiments/owner_page.hpp"
#include "eval/experiments/progress.hpp"
#include "eval/experiments/shards.hpp"
#include "eval/research/protocol/protocol.hpp"

namespace rldp::app {

namespace {

std::vector<eval::measured_cell> measure(const std::vector<eval::protocol_cell>& cells,
                                         const std::filesystem::path& out) {
    std::vector<eval::measured_cell> all;
    all.reserve(cells.size());
    for (const auto& one : cells) all.push_back({one, eval::read_result({out, one.run.id})});
    return all;
}

/// Tunes every arm, tests it with what was chosen, and reports; the exit status.
int run_protocol(const grid_options& given, const std::string& file) {
    const auto written = eval::read_protocol(file);
    const auto plan = eval::plan_protocol(written, eval::make_resolver(written.base, {}));
    const auto shard = eval::shard_from(given.shard);
    const auto chosen = eval::selection_from(given.only, plan.what.axes);
    auto place = given;
    place.config = file;  // names the directory
    const auto out = find_directory(place, "protocol");
    eval::claim_directory(out, plan.what);
    const append_file lock(out / "grid.lock");
    const auto dashboard = shown(given.dashboard, out);
    collect_shards(given, out, plan.what);

    if (written.least_p() > eval::significance)
        say(stderr, "{}: with {} seeds and {} arms no p can be below {:.3g}: nothing can be won; give it more seeds\n",
            file, written.seeds.size(), written.arms.size(), written.least_p());

    auto settings = make_run_settings(given, out);
    settings.config = plan.how.base;
    std::vector<eval::cell> mine;
    const auto run_stage = [&](const std::vector<eval::protocol_cell>& cells, bool attacked) {
        const auto runs = chosen_runs(eval::take_shard(cells, shard), chosen);
        settings.audit = attacked;
        mine.insert(mine.end(), runs.begin(), runs.end());
        return eval::run_cells(runs, settings, eval::progress_on_terminal(runs.size(), out, given.quiet));
    };
    bool finished = run_stage(plan.trials, false);  // on data that are nobody's, or public
    auto cells = plan.trials;
    // Trials of other shards may be missing: their arms wait until they are collected.
    const auto tests = eval::test_cells(plan, eval::tune(plan, measure(plan.trials, out)));
    cells.insert(cells.end(), tests.begin(), tests.end());
    finished = finished && run_stage(tests, given.audit);

    const auto command = command_line("compare", given, out, {"--protocol", file});
    const auto report = eval::make_report(plan, measure(cells, out), command);
    eval::write_files(out, report);
    eval::write_owner_files(out, eval::read_owned(out, chosen_runs(cells)));
    say_text(given.json ? eval::protocol_json(report) : eval::protocol_text(report));
    if (!given.json) print_pages(out, "protocol");
    return grid_status(finished, out, mine, command);
}

}  // namespace

void add_protocol(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "compare");
    auto given = std::make_shared<grid_options>();
    auto file = std::make_shared<std::string>();
    command
        ->add_option("--protocol", *file,
                     "a comparison that was written down beforehand: arms, seeds, tuning trials, tests")
        ->required();
    add_grid_options(*command, *given, "arm, epsilon, seed, stage");
    command->footer("Example: rldp compare --protocol docs/preregistered.json --jobs 2 --out runs/t1");
    command->callback([given, file, &chosen] { chosen = [given, file] { return run_protocol(*given, *file); }; });
}

}  // namespace rldp::app
