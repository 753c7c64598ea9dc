// rldp compare --protocol: a comparison that was written down beforehand.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "eval/research/protocol/protocol.hpp"

namespace rldp::app {

namespace {

/// Tunes every arm, tests it with what was chosen, and reports; the exit status.
int run_protocol(grid_options given, const std::string& file) {
    const auto written = eval::read_protocol(file);
    const auto plan = eval::plan_protocol(written, eval::make_resolver(written.base, {}));
    auto what = eval::make_experiment(plan);
    if (written.least_p() > eval::significance)
        what.warning = fmt::format(
            "{}: with {} seeds and {} arms no p can be below {:.3g}: nothing can be won; give it more seeds", file,
            written.seeds.size(), written.arms.size(), written.least_p());
    given.config = written.base.string();
    return run_experiment(given, what, find_directory(given, file, plan.what.kind), {"compare", "--protocol", file});
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
    command->footer("Example: rldp compare --protocol research/preregistered.json --jobs 2 --out runs/t1");
    command->callback([given, file, &chosen] { chosen = [given, file] { return run_protocol(*given, *file); }; });
}

}  // namespace rldp::app
