// rldp advise: what to do after a run.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/report/run_report.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::app {

namespace {

struct advise_arguments {
    std::string run;
    bool json = false;
};

int advise(const advise_arguments& given) {
    const auto run = eval::run_at(given.run);
    if (!std::filesystem::exists(run.summary()))
        refuse(given.run + ": holds no run that has ended (public/summary.json is missing)");
    const auto advice = eval::advise_next(eval::parse_summary(read_text(run.summary())),
                                          eval::read_metrics(run.metrics()), read_text(run.config()));
    if (given.json)
        say("{}\n", nlohmann::json{{"next", advice}}.dump());
    else
        say("next: {}\nEach further run on the same records adds to what is spent on them (rldp book).\n", advice);
    return 0;
}

}  // namespace

void add_advise(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("advise", "Say what would likeliest make the next run better");
    auto given = std::make_shared<advise_arguments>();
    command->add_option("run", given->run, "run directory, or its public side")->required();
    command->add_flag("--json", given->json, "print as JSON");
    command->footer("From public values alone, by the rules of docs/choosing.md.\nExample: rldp advise runs/first");
    command->callback([given, &chosen] { chosen = [given] { return advise(*given); }; });
}

}  // namespace rldp::app
