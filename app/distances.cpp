// rldp distances: how far a made-up table lies from the private one, under a price.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/spent.hpp"
#include "app/words.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/discovery/distances.hpp"

namespace rldp::app {

namespace {

struct distances_arguments {
    actors::distances_request asked;
    std::string run, out, epsilon, delta = "1e-6";
};

void print(const std::vector<actors::table_distances::of_columns>& all) {
    std::vector<std::vector<std::string>> rows = {{"  columns", "distance", "95 % low", "high"}};
    for (const auto& [first, second, distance] : all)
        rows.push_back({"  " + first + (second.empty() ? "" : " and " + second),
                        fmt::format("{:.3f}", distance.estimate), fmt::format("{:.3f}", distance.low),
                        fmt::format("{:.3f}", distance.high)});
    say_text(eval::text_table(rows));
}

int distances(const distances_arguments& given) {
    auto asked = given.asked;
    asked.run = given.run;
    asked.out = given.out;
    asked.contract.epsilon = parse_number("--epsilon", given.epsilon);
    asked.contract.delta = parse_number("--delta", given.delta);
    const auto made = actors::measure_distances(asked);
    say("total variation distances, 0 to 1, from noised counts of all units of {}: {:.0f} ± {:.0f}\n", asked.data,
        made.units, 2 * made.units_deviation);
    print(made.single);
    if (!made.pairs.empty()) print(made.pairs);
    for (const auto& name : made.left_out) say("left out: {}, for no list or range says what values it has\n", name);
    say("the interval is for the noise; noise alone makes a distance larger\n");
    print_spent(made.counted, asked.contract, made.unit);
    if (asked.out.empty()) return 0;
    write_file(asked.out, made.written);
    say("wrote {}, which may be passed on\n", asked.out.string());
    return 0;
}

}  // namespace

void add_distances(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("distances",
                                           "Say how far a made-up table lies from the private one, under a price in ε");
    auto given = std::make_shared<distances_arguments>();
    command->add_option("run", given->run, "the run's directory; its public/ is enough")->required();
    command->add_option("table", given->asked.made_up, "the made-up table, as rldp synthesize wrote it")->required();
    command->add_option("--data", given->asked.data, "the private table")->required();
    command->add_option("--epsilon", given->epsilon, "what may be spent, such as 0.5")->required();
    command->add_option("--delta", given->delta, "the δ of that")->capture_default_str();
    command
        ->add_option("--column", given->asked.columns,
                     "only this column; repeatable, and fewer columns have less noise (default: all of the schema)")
        ->allow_extra_args(false);
    command->add_option("--out", given->out, "write them as JSON, to be passed on");
    command->add_flag("--force", given->asked.overwrite, "overwrite --out");
    command->add_option("--book", given->asked.contract.book, "budget book (default: the run's)");
    command->footer(
        "Example: rldp distances runs/first synthetic.csv --data patients.csv --epsilon 0.5 --out distances.json");
    command->callback([given, &chosen] { chosen = [given] { return distances(*given); }; });
}

}  // namespace rldp::app
