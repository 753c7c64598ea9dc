// rldp discover: the domains of a table's columns, found under a price.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/spent.hpp"
#include "app/words.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/discovery/discovery.hpp"

namespace rldp::app {

namespace {

struct discover_arguments {
    actors::discovery_request asked;
    std::string table_template, out, person, epsilon, delta = "1e-6";
    bool dry_run = false;
};

void print_plan(const actors::discovery_plan& plan, const actors::discovery_request& asked) {
    const auto unit = plan.unit == "record" ? std::string("each record") : "each " + plan.unit;
    say("ε {:g} at δ {:g} for {}; a count's noise has these deviations\n", asked.contract.epsilon, asked.contract.delta,
        unit);
    std::vector<std::vector<std::string>> rows = {{"  column", "deviation", "needed", ""}};
    for (const auto& [what, deviation, needed] : plan.columns)
        rows.push_back(
            {"  " + what.name, fmt::format("{:.1f}", deviation), fmt::format("{:.0f}", needed),
             what.has_grid() ? "about so many units begin a range" : "about so many units make a value known"});
    say_text(eval::text_table(rows));
}

int discover(const discover_arguments& given) {
    auto asked = given.asked;
    asked.contract.epsilon = parse_number("--epsilon", given.epsilon);
    asked.contract.delta = parse_number("--delta", given.delta);
    if (!given.person.empty()) asked.contract.person = given.person;
    if (!given.table_template.empty()) asked.table_template = given.table_template;
    asked.out = given.out.empty() ? given.table_template : given.out;
    const auto plan = actors::plan_discovery(asked);
    if (given.dry_run) {
        print_plan(plan, asked);
        say("nothing was read but the columns' names, and nothing charged\n");
        return 0;
    }
    const auto made = actors::discover(asked);
    std::vector<std::vector<std::string>> rows = {{"  column", "found"}};
    for (const auto& column : made.columns) rows.push_back({"  " + column.name, column.said});
    say_text(eval::text_table(rows));
    say("\nRare values, and those beyond the ends, are missing on purpose: write them by hand where they may be "
        "known\n");
    print_spent(made.counted, asked.contract, plan.unit);
    if (made.written.empty()) {
        say("nothing is written\n");
        return 0;
    }
    write_file(asked.out, made.written);
    say("wrote {}: read it over; a schema is public, and yours to declare\n", asked.out.string());
    if (!made.teaching.empty())
        say("each column has a type, so rows that are made up of them can teach how a row is told, for no ε: rldp run "
            "with {}\n",
            made.teaching);
    return 0;
}

}  // namespace

void add_discover(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("discover", "Find what values a table's columns have, under a price in ε");
    auto given = std::make_shared<discover_arguments>();
    command->add_option("data", given->asked.data, "the table: .csv, .tsv or .jsonl, packed (.gz, .zst) or not")
        ->required();
    command
        ->add_option("--type", given->asked.types,
                     "a column whose domain shall be found: cut=category age=integer price=number:0.01 weight=number "
                     "day=date:%d.%m.%Y; repeatable")
        ->required()
        ->allow_extra_args(false);
    command->add_option("--epsilon", given->epsilon, "what may be spent on all of them together, such as 0.1")
        ->required();
    command->add_option("--delta", given->delta, "the δ of that; well below 1/N")->capture_default_str();
    command->add_option("--template", given->table_template, "data.template, whose schema is filled in");
    command->add_option("--out", given->out, "file to write in the template's place");
    command->add_flag("--force", given->asked.overwrite, "overwrite --out");
    command->add_option("--person", given->person,
                        "column that says whose a row is: all rows of one person are protected together");
    command->add_flag("--record", given->asked.each_record, "each row is protected by itself");
    command
        ->add_option("--rows-per-person", given->asked.contract.rows_per_person,
                     "of a person with more rows so many count, chosen at random")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    command->add_option("--book", given->asked.contract.book,
                        "budget book, as privacy.book of the runs on this table (default: by the file's name)");
    command->add_flag("--dry-run", given->dry_run, "print how many units a value needs; nothing is counted or charged");
    command->footer(
        "Example: rldp discover patients.csv --template patients.template.json --person patient_nbr --epsilon 0.1 "
        "--type sex=category --type age=integer");
    command->callback([given, &chosen] { chosen = [given] { return discover(*given); }; });
}

}  // namespace rldp::app
