// rldp book: what the runs on one data set have taken of its owner's budget, and how much that may be.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "app/commands.hpp"
#include "app/numbers.hpp"
#include "config/base/error.hpp"
#include "config/base/output.hpp"
#include "eval/report/text_table.hpp"
#include "privacy/spending/book.hpp"

namespace rldp::app {

namespace {

using json = nlohmann::ordered_json;

struct book_arguments {
    std::string directory, epsilon, delta, unit = "record", composition = "basic";
    bool json = false;
};

std::string name_of(privacy::composition by) {
    return by == privacy::composition::pld ? "pld" : "basic";
}

std::string shown(const std::optional<double>& epsilon) {
    return epsilon ? show(*epsilon) : "none";
}

json written(const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
}

void print(const privacy::budget_book& book) {
    std::vector<std::vector<std::string>> rows = {{"began", "ε", "δ", "unit", "split", "records", "run"}};
    std::set<std::string> data;
    for (const auto& run : book.runs) {
        rows.push_back({run.began, shown(run.epsilon), fmt::format("{:g}", run.delta), run.unit, run.split,
                        run.data.substr(0, 8), run.place});
        data.insert(run.data);
    }
    say_text(eval::text_table(rows) + "\n");
    for (const auto& sum : privacy::sums_of(book)) {
        say("{} run{} by {}, split {}: ", sum.runs, sum.runs == 1 ? "" : "s", sum.unit, sum.split);
        if (!sum.epsilon) {
            say("no guarantee together, for one of them has none\n");
            continue;
        }
        say("ε {} at δ {:g} added up", show(*sum.epsilon), sum.delta);
        if (sum.pld && *sum.pld < *sum.epsilon)
            say("; {} composed, if no run was set up by what an earlier one released", show(*sum.pld));
        say("\n");
    }
    if (privacy::sums_of(book).size() > 1)
        say("Contracts of different units or splits have no sum: whom one run held out, another may have trained "
            "on.\n");
    if (data.size() > 1)
        say("{} different sets of training records: runs are added up as if they shared them, which is the safe "
            "side.\n",
            data.size());
    if (book.total)
        say("total allowed: ε {:g} at δ {:g} by {}, {}\n", book.total->epsilon, book.total->delta, book.total->unit,
            book.total->by == privacy::composition::pld ? "composed" : "added up");
    else
        say("no total is set: rldp book DIR --total-epsilon E --total-delta D refuses runs beyond it\n");
}

void print_json(const privacy::budget_book& book) {
    json out{{"runs", json::array()}, {"sums", json::array()}, {"total", nullptr}};
    for (const auto& run : book.runs)
        out["runs"].push_back({{"run", run.run},
                               {"place", run.place},
                               {"began", run.began},
                               {"data", run.data},
                               {"unit", run.unit},
                               {"split", run.split},
                               {"epsilon", written(run.epsilon)},
                               {"delta", run.delta}});
    for (const auto& sum : privacy::sums_of(book))
        out["sums"].push_back({{"unit", sum.unit},
                               {"split", sum.split},
                               {"runs", sum.runs},
                               {"delta", sum.delta},
                               {"epsilon_basic", written(sum.epsilon)},
                               {"epsilon_pld", written(sum.pld)}});
    if (const auto& total = book.total)
        out["total"] = {{"epsilon", total->epsilon},
                        {"delta", total->delta},
                        {"unit", total->unit},
                        {"composition", name_of(total->by)}};
    say("{}\n", out.dump(-1, ' ', false, json::error_handler_t::replace));
}

int book(const book_arguments& given) {
    if (given.epsilon.empty() != given.delta.empty())
        refuse("book: a total has two halves; give both --total-epsilon and --total-delta");
    if (!given.epsilon.empty())
        privacy::set_total(given.directory, {.epsilon = parse_number("--total-epsilon", given.epsilon),
                                             .delta = parse_number("--total-delta", given.delta),
                                             .unit = given.unit,
                                             .by = given.composition == "pld" ? privacy::composition::pld
                                                                              : privacy::composition::basic});
    const auto found = privacy::read_book(given.directory);
    given.json ? print_json(found) : print(found);
    return 0;
}

}  // namespace

void add_book(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand(
        "book", "Show what all runs on a data set have spent together, or set how much they may");
    auto given = std::make_shared<book_arguments>();
    command->add_option("book", given->directory, "directory of the book (privacy.book)")->required();
    command->add_option("--total-epsilon", given->epsilon, "from now on, runs that bring ε above this are refused");
    command->add_option("--total-delta", given->delta, "the δ of that total");
    command->add_option("--unit", given->unit, "whom the total protects: record, or the column that groups share");
    command
        ->add_option(
            "--composition", given->composition,
            "how runs come to a total: basic adds them up, which always holds; pld composes their steps, which "
            "holds where no run is set up by what an earlier one released")
        ->check(CLI::IsMember({"basic", "pld"}));
    command->add_flag("--json", given->json, "print as JSON");
    command->footer("Example: rldp book patients.book --total-epsilon 10 --total-delta 1e-5");
    command->callback([given, &chosen] { chosen = [given] { return book(*given); }; });
}

}  // namespace rldp::app
