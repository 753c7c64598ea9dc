// rldp audit: attacks on a run, for the owner of its data.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/audit_launch.hpp"
#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "config/config.hpp"
#include "eval/experiments/progress.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::app {

namespace {

struct audit_arguments {
    std::string directory, ending, prompt;
    std::int64_t targets = 0;
    bool during_run = false, json = false, quiet = false;
    int shadows = 0, jobs = 1;
};

/// The same run `count` times, whose adapters stay with the owner, and so out of the budget book, with other targets in
/// training. An N that the run did not declare stays open: canaries are drawn by it, and shadows must plant those of
/// the run.
std::vector<eval::cell> shadow_cells(int count) {
    std::vector<eval::cell> out;
    for (int i = 0; i < count; ++i)
        out.push_back({.id = std::to_string(i),
                       .at = {{"shadow", std::to_string(i)}},
                       .overrides = {fmt::format("audit.shadow={}", i), "eval.target=null", "monitor.address=null",
                                     "privacy.book=none"}});
    return out;
}

/// Directories of the shadow runs, which are run where they are not there yet. Errors: failed where one is not done.
std::vector<std::filesystem::path> run_shadows(const eval::run_directory& where, const audit_arguments& given) {
    if (given.shadows == 0) return {};
    const auto cells = shadow_cells(given.shadows);
    create_private_directory(where.shadows());
    const append_file lock(where.shadows() / "grid.lock");
    const eval::run_settings how{
        .config = where.config(), .set = eval::read_places(where), .out = where.shadows(), .jobs = given.jobs};
    const bool all =
        eval::run_cells(cells, how, eval::progress_on_terminal(cells.size(), where.shadows(), given.quiet));
    if (!all) throw error(errc::interrupted, "audit: interrupted; call it again to go on with the shadow runs");
    std::vector<std::filesystem::path> out;
    for (const auto& one : cells) {
        const eval::cell_files files{where.shadows(), one.id};
        if (eval::read_result(files).state != eval::cell_state::done)
            throw error(errc::failed, "audit: a shadow run failed; its log is " + files.log().string());
        out.push_back(files.run().root);
    }
    return out;
}

/// How to attack, where that is said only now. None of it changes who was in training.
std::vector<std::string> list_overrides(const audit_arguments& given) {
    std::vector<std::string> out;
    if (!given.ending.empty()) out.push_back("audit.ending=" + nlohmann::json(given.ending).dump());
    if (!given.prompt.empty()) out.push_back("audit.prompt=" + nlohmann::json(given.prompt).dump());
    if (given.targets > 0) out.push_back(fmt::format("audit.targets={}", given.targets));
    return out;
}

int audit(const audit_arguments& given) {
    if (given.during_run && given.shadows > 0)
        refuse("audit: shadow runs go with a run that is over; leave --shadows or --during-run away");
    if (given.targets > 0 && given.shadows > 0)
        refuse("audit: shadow runs have the run's own audit.targets; leave --targets or --shadows away");
    const eval::run_directory where{given.directory};
    if (const std::filesystem::path asked = given.directory; std::filesystem::exists(asked / "ledger.jsonl"))
        refuse(fmt::format("{}: is what a run has published, and attacks need what it keeps beside that; give {}",
                           given.directory, std::filesystem::absolute(asked / "..").lexically_normal().string()));
    if (!std::filesystem::exists(where.ledger()))
        refuse(given.directory + ": holds no run (public/ledger.jsonl is missing)");
    const auto shadows = run_shadows(where, given);
    actors::launch_audit(
        where,
        {.during_run = given.during_run, .shadows = shadows, .overrides = list_overrides(given), .on_report = [&] {
             say_text(read_file(given.json ? where.audit_json() : where.audit_text()));
             if (!given.json) say("{}\n", where.audit_page().string());
         }});
    return 0;
}

}  // namespace

void add_audit(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "audit");
    auto given = std::make_shared<audit_arguments>();
    command->add_option("directory", given->directory, "run directory, with its trusted side")->required();
    command->add_flag("--during-run", given->during_run,
                      "attack every checkpoint of a run that goes on in another process, until it ends");
    command->add_option("--shadows", given->shadows, "compare with so many shadow runs, each as long as the run (LiRA)")
        ->check(CLI::Range(1, 1024));
    command->add_option("--jobs", given->jobs, "shadow runs at a time, a process each (default 1)")
        ->check(CLI::Range(1, 1024));
    command->add_option("--ending", given->ending,
                        "score only what follows this text in a record (default the run's audit.ending, or all of it)");
    command->add_option("--prompt", given->prompt,
                        "file with the extraction prompt, {profile} in it (default the run's audit.prompt)");
    command
        ->add_option("--targets", given->targets,
                     "guess membership of so many training units and as many others (default the run's audit.targets)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
    command->add_flag("--json", given->json, "print the report as JSON");
    command->add_flag("--quiet", given->quiet, "no progress");
    command->footer(
        "Example: rldp run config/demo.json --set data.canaries=10 --set audit.canaries=200 --out runs/first\n"
        "         rldp audit runs/first\n"
        "The report speaks of training records: it goes to trusted/audit/, for the owner of the data only.");
    command->callback([given, &chosen] { chosen = [given] { return audit(*given); }; });
}

}  // namespace rldp::app
