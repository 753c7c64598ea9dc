// rldp book: what the runs on one population have taken of its owner's budget, and how much that may be.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "app/commands.hpp"
#include "app/words.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/book_search.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::app {

namespace {

using json = nlohmann::ordered_json;

struct book_arguments {
    std::string book, epsilon, delta, unit = "record", composition = "basic";
    std::optional<std::int64_t> records;
    bool json = false, fresh = false;
};

std::string shown(const std::optional<double>& epsilon) {
    return epsilon ? show(*epsilon) : "none";
}

json written(const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
}

/// Of earlier versions it is rule and seed, else a digest.
std::string short_split(const std::string& split) {
    return split.find(' ') == std::string::npos ? split.substr(0, 8) : split;
}

std::string describe_total(const privacy::book_total& total) {
    return fmt::format("ε {:g} at δ {:g} by {}, {}{}", total.epsilon_budget, total.delta, total.unit,
                       total.by == privacy::composition_rule::pld ? "composed" : "added up",
                       total.records_per_unit
                           ? fmt::format(", runs by record included, for {} records", *total.records_per_unit)
                           : "");
}

void print(const privacy::budget_book& book) {
    std::vector<std::vector<std::string>> rows = {{"began", "ε", "δ", "unit", "held out", "split", "records", "run"}};
    std::set<std::string> data;
    for (const auto& run : book.runs) {
        rows.push_back({run.began, shown(run.epsilon_guaranteed), fmt::format("{:g}", run.delta), run.unit,
                        name_of(run.held_out), short_split(run.split), run.data.substr(0, 8),
                        run.place + (run.copy_of.empty() ? "" : " (a copy of " + run.copy_of + ")")});
        if (!run.data.empty()) data.insert(run.data);
    }
    say_text(eval::text_table(rows) + "\n");
    for (const auto& sum : privacy::compute_sums(book)) {
        say("{} run{} by {}, {}: ", sum.runs, sum.runs == 1 ? "" : "s", sum.unit,
            !sum.split.empty() ? "split " + short_split(sum.split)
            : sum.of_all       ? "all units"
                               : "several splits");
        if (!sum.epsilon_guaranteed) {
            say("no guarantee together, for one of them has none\n");
            continue;
        }
        say("ε {} at δ {:g} added up", show(*sum.epsilon_guaranteed), sum.delta);
        if (sum.pld && *sum.pld < *sum.epsilon_guaranteed)
            say("; {} composed, if no run was set up by what an earlier one released", show(*sum.pld));
        say("\n");
    }
    if (privacy::compute_sums(book).size() > 1)
        say("What stands apart has no sum: another unit's contracts, and under raw held-out figures another split's, "
            "for whom one run held out, another may have trained on.\n");
    if (data.size() > 1)
        say("{} different sets of training records: runs are added up as if they shared them, which is the safe "
            "side.\n",
            data.size());
    for (const auto& total : book.totals) say("total allowed: {}\n", describe_total(total));
    if (book.totals.empty())
        say("no total is set: rldp book BOOK --total-epsilon E --total-delta D refuses runs beyond it\n");
}

void print_json(const privacy::budget_book& book) {
    json out{{"runs", json::array()}, {"sums", json::array()}, {"totals", json::array()}};
    for (const auto& run : book.runs)
        out["runs"].push_back({{"run", run.run},
                               {"place", run.place},
                               {"began", run.began},
                               {"data", run.data},
                               {"unit", run.unit},
                               {"split", run.split},
                               {"held_out", name_of(run.held_out)},
                               {"copy_of", run.copy_of},
                               {"epsilon", written(run.epsilon_guaranteed)},
                               {"delta", run.delta}});
    for (const auto& sum : privacy::compute_sums(book))
        out["sums"].push_back({{"unit", sum.unit},
                               {"split", sum.split},
                               {"runs", sum.runs},
                               {"delta", sum.delta},
                               {"epsilon_basic", written(sum.epsilon_guaranteed)},
                               {"epsilon_pld", written(sum.pld)}});
    for (const auto& total : book.totals)
        out["totals"].push_back(
            {{"epsilon", total.epsilon_budget},
             {"delta", total.delta},
             {"unit", total.unit},
             {"composition", name_of(total.by)},
             {"records_per_unit", total.records_per_unit ? json(*total.records_per_unit) : json()}});
    say("{}\n", out.dump(-1, ' ', false, json::error_handler_t::replace));
}

/// Each with its runs.
void list(bool as_json) {
    const auto all = privacy::books_at_home();
    json out = json::array();
    for (const auto& each : all) {
        const auto lines = std::filesystem::exists(each / "book.jsonl");
        const auto runs = lines ? privacy::read_book(each).runs.size() : 0;
        out.push_back({{"book", each.filename().string()}, {"place", each.string()}, {"runs", runs}});
        if (!as_json) say("{}  {} run{}\n", each.filename().string(), runs, runs == 1 ? "" : "s");
    }
    if (as_json)
        say("{}\n", out.dump(-1, ' ', false, json::error_handler_t::replace));
    else
        say("{} book{} in {}\n", all.size(), all.size() == 1 ? "" : "s", privacy::books_home().string());
}

int book(const book_arguments& given) {
    if (given.epsilon.empty() != given.delta.empty())
        refuse("book: a total has two halves; give both --total-epsilon and --total-delta");
    if (given.records && given.epsilon.empty())
        refuse("book: --records-per-unit is of a total; give --total-epsilon and --total-delta, too");
    if (given.book.empty()) {
        if (given.fresh || !given.epsilon.empty()) refuse("book: which one? Give its name, or the path of a directory");
        list(given.json);
        return 0;
    }
    const auto directory = privacy::book_called(given.book);
    if (given.fresh) {
        if (privacy::is_book(directory)) refuse(directory.string() + ": is a budget book already");
        privacy::make_book(directory);
    }
    if (!given.epsilon.empty())
        privacy::set_total(directory, {.epsilon_budget = parse_number("--total-epsilon", given.epsilon),
                                       .delta = parse_number("--total-delta", given.delta),
                                       .unit = given.unit,
                                       .by = parse_named<privacy::composition_rule>(given.composition),
                                       .records_per_unit = given.records});
    else if (given.fresh)
        return 0;
    const auto found = privacy::read_book(directory);
    given.json ? print_json(found) : print(found);
    return 0;
}

}  // namespace

void add_book(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand(
        "book", "Show what all runs on a population have spent together, or set how much they may");
    auto given = std::make_shared<book_arguments>();
    command->add_option("book", given->book,
                        "a book's name (privacy.book), or the path of its directory; without it, all books by name");
    command->add_flag("--new", given->fresh, "make a book of that name, also where another has data like its runs'");
    command->add_option("--total-epsilon", given->epsilon, "from now on, runs that bring ε above this are refused");
    command->add_option("--total-delta", given->delta, "the δ of that total");
    command->add_option("--unit", given->unit,
                        "whom the total protects: record, or the column that groups share; a total for each");
    command->add_option("--records-per-unit", given->records,
                        "the most records that anybody has in the data: runs by record count too, at their price for "
                        "a group of so many");
    command
        ->add_option(
            "--composition", given->composition,
            "how runs come to a total: basic adds them up, which always holds; pld composes their steps, which "
            "holds where no run is set up by what an earlier one released")
        ->check(CLI::IsMember(all_names<privacy::composition_rule>()));
    command->add_flag("--json", given->json, "print as JSON");
    command->footer("Example: rldp book patients --total-epsilon 10 --total-delta 1e-5");
    command->callback([given, &chosen] { chosen = [given] { return book(*given); }; });
}

}  // namespace rldp::app
