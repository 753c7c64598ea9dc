// rldp judge: a made-up table beside a run's records, for the owner of the data.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "app/commands.hpp"
#include "base/output.hpp"
#include "eval/tables/report/report.hpp"
#include "run/judge/judge.hpp"

namespace rldp::app {

namespace {

struct judge_arguments {
    std::string run, table;
    std::int64_t threads = 0;
    bool json = false;
};

int judge(const judge_arguments& given) {
    const auto processors = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    const auto found =
        actors::judge_table({.run = given.run,
                             .table = given.table,
                             .threads = static_cast<int>(given.threads > 0 ? given.threads : processors)});
    const auto page = actors::write_table_report(given.run, found);
    if (given.json) {
        say_text(eval::table_json(found));
        return 0;
    }
    say("PRIVATE, for the data's owner: what the table is worth, and what it gives away\n");
    say_text(eval::table_summary(found));
    say("{}\n", page.string());
    return 0;
}

}  // namespace

void add_judge(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "judge");
    auto given = std::make_shared<judge_arguments>();
    command->add_option("run", given->run, "run directory, with its trusted side")->required();
    command->add_option("table", given->table, "made-up table with the columns of the run's schema")->required();
    command->add_option("--threads", given->threads, "default: as many as there are processors")
        ->check(CLI::Range(1, 1024));
    command->add_flag("--json", given->json, "print the report as JSON");
    command->footer(
        "Example: rldp judge runs/first synthetic.csv\n"
        "The report reads real records: it goes to trusted/synthetic.html, for the owner of the data only.");
    command->callback([given, &chosen] { chosen = [given] { return judge(*given); }; });
}

}  // namespace rldp::app
