// rldp init: from a file of records to a configuration that runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/torch/plan.hpp"
#include "app/words.hpp"
#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "data/sources/made_up_rows.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/first/first_config.hpp"

namespace rldp::app {

namespace {

namespace fs = std::filesystem;

struct init_arguments {
    std::string data, model, out, person, target;
    std::vector<std::string> left_out, kept, types;
    std::optional<std::int64_t> population, max_tokens;
    double epsilon = 4;
    bool record = false, force = false, json = false;
};

std::string describe_column(const data::column_facts& column, const actors::first_config& made) {
    const auto& found = made.found;
    switch (column.role) {
        case data::column_role::rendered:
            if (column.named != data::naming::nothing) return "told, though it identifies (--keep-identifier)";
            return column.name == found.target ? "told; its value will be guessed at the end (eval.target)" : "told";
        case data::column_role::free_text:
            return "told as it is";
        case data::column_role::person:
            return "the person: all their records are protected together; never told";
        case data::column_role::left_out:
            if (found.has_text || found.has_chats) return "not read";
            switch (column.named) {
                case data::naming::person:
                    return "left out: by its name it says whose the record is";
                case data::naming::thing:
                    return "left out: by its name it numbers records or things";
                case data::naming::identity:
                    return "left out: by its name it says who somebody is";
                case data::naming::nothing:
                    return "left out (--leave-out)";
            }
    }
    return "";
}

std::string describe_data(const data::survey& found) {
    switch (found.kind) {
        case data::data_kind::table:
            return fmt::format("a table, fields end at {}", found.delimiter == '\t'  ? "tabs"
                                                            : found.delimiter == ';' ? "semicolons"
                                                                                     : "commas");
        case data::data_kind::json_lines:
            return found.has_chats
                       ? "JSON lines with a conversation each; the model's chat template writes them, and the "
                         "assistant's answers are learned"
                   : found.has_text ? "JSON lines with a text each"
                                    : "JSON lines with columns";
        case data::data_kind::text:
            return "text, a record per line";
    }
    return "";
}

void print_columns(const actors::first_config& made) {
    const auto& found = made.found;
    if (found.columns.empty()) return;
    std::vector<std::vector<std::string>> rows = {{"  column", "what becomes of it"}};
    for (const auto& column : found.columns) rows.push_back({"  " + column.name, describe_column(column, made)});
    say_text(eval::text_table(rows));
}

/// The command again, with what the values suggest: the owner types what of it may be public.
std::string suggested(const actors::first_config& made, const actors::first_request& asked) {
    const auto& advice = made.advice;
    std::string out =
        fmt::format("rldp init {} --model {}", shell_word(asked.data.string()), shell_word(asked.model.string()));
    if (asked.hints.person)
        out += *asked.hints.person == "none" ? " --record" : " --person " + shell_word(*asked.hints.person);
    else if (!made.found.identifiers().empty())
        out += advice.columns.person ? " --person " + shell_word(*advice.columns.person) : " --record";
    out += fmt::format(" --population {}", asked.population.value_or(advice.population));
    out += fmt::format(" --max-tokens {}", asked.max_tokens.value_or(advice.max_tokens));
    if (made.found.target) out += " --target " + shell_word(*made.found.target);
    for (const auto& name : asked.hints.left_out) out += " --leave-out " + shell_word(name);
    for (const auto& name : advice.columns.say_nothing) out += " --leave-out " + shell_word(name);
    for (const auto& name : asked.hints.kept) out += " --keep-identifier " + shell_word(name);
    for (const auto& type : asked.hints.types) out += " --type " + shell_word(type);
    if (asked.epsilon != 4) out += fmt::format(" --epsilon {:g}", asked.epsilon);
    return out + " --out " + shell_word(asked.config.string()) + (asked.overwrite ? " --force" : "");
}

/// Columns with values that their declared type has not, the most such values first.
std::vector<const data::column_facts*> find_beyond_types(const actors::first_config& made) {
    std::vector<const data::column_facts*> out;
    for (const auto& column : made.found.columns)
        if (column.beyond_type > 0 && column.role != data::column_role::left_out) out.push_back(&column);
    std::ranges::stable_sort(out, std::ranges::greater(), &data::column_facts::beyond_type);
    return out;
}

using readings = std::vector<std::pair<std::string, std::string>>;

/// How a column's values are read, where its owner may think otherwise, and what to write in the template then.
void add_readings(const data::column_facts& column, std::size_t records, readings& into) {
    if (column.role != data::column_role::rendered) return;
    for (const auto& [word, count] : column.taken_for_none)
        into.emplace_back("taken for none",
                          fmt::format("{} is {} in {} of {} records; where that is a value, take it out of \"missing\"",
                                      column.name, word, count, records));
    if (2 * column.decimal_commas > records)
        into.emplace_back("decimal commas",
                          fmt::format("{0} has numbers such as 1,5; {{\"columns\": {{\"{0}\": {{\"decimal\": "
                                      "\",\"}}}}}} tells them as 1.5",
                                      column.name));
    if (column.words_among_numbers > 0)
        into.emplace_back("a word among numbers",
                          fmt::format("{} is one in {} of {} records; where it stands for none, add it to \"missing\"",
                                      column.name, column.words_among_numbers, records));
}

void print_readings(const actors::first_config& made) {
    readings all;
    for (const auto& column : made.found.columns) add_readings(column, made.found.records, all);
    if (all.empty()) return;
    say("\nPRIVATE, for the data's owner: values that can be read in two ways; the template says which\n");
    for (const auto& [what, value] : all) say("  PRIVATE: {:<24}{}\n", what, value);
}

/// Values of which the owner may not know: a type is declared, not looked up.
void print_beyond_types(const actors::first_config& made) {
    constexpr std::size_t most = 5;
    const auto all = find_beyond_types(made);
    if (all.empty()) return;
    say("\nPRIVATE, for the data's owner: values beyond --type; a run learns them as they stand, no made-up row has "
        "one\n");
    for (const auto* column : std::span(all).first(std::min(most, all.size())))
        say("  PRIVATE: {:<24}{} of {} values don't fit: {}\n", column->name, column->beyond_type, column->values,
            column->declared);
    if (all.size() > most) say("  PRIVATE: {:<24}likewise\n", fmt::format("{} more", all.size() - most));
}

/// What rldp synthesize asks for: types that only the owner may declare, for a range or a rare value tells of somebody.
void print_kinds(const actors::first_config& made) {
    if (made.found.has_text || made.found.has_chats) return;
    std::vector<std::vector<std::string>> rows;
    for (const auto& column : made.found.columns) {
        const bool told = column.role == data::column_role::rendered || column.role == data::column_role::free_text;
        if (told && column.declared.empty() && !column.says_nothing)
            rows.push_back({"    --type " + shell_word(column.name + "=" + column.type), column.seen});
    }
    if (rows.empty()) return;
    say("  {:<24}{}\n", "types to declare", "they are public; ends are rounded outwards, the words for … are yours");
    say_text(eval::text_table(rows));
}

std::string describe_advised_tokens(const actors::first_config& made) {
    const auto& advice = made.advice;
    return fmt::format(
        "{} of each record: {}, in whole 32s within the model's window; {} of these {} cut", advice.max_tokens,
        made.found.target ? "a quarter more than the longest, for a record that is cut can't be asked for "
                            "its target"
                          : "95 of 100 have no more",
        advice.cut_as_advised == 0 ? "none" : fmt::format("{}", advice.cut_as_advised),
        advice.cut_as_advised > 1 ? "are" : "is");
}

/// Private: nothing of it is written anywhere.
void print_advice(const actors::first_config& made, const actors::first_request& asked) {
    const auto& advice = made.advice;
    say("\nPRIVATE, for the data's owner: what the values suggest; none of it is written\n");
    const auto row = [](const std::string& key, const std::string& value) { say("  {:<24}{}\n", key, value); };
    row("records", fmt::format("{}; {} units to protect", made.found.records, advice.units));
    if (advice.columns.person)
        for (const auto& column : made.found.columns)
            if (column.name == advice.columns.person)
                row("whose a record is", fmt::format("{} has {} values", column.name, column.distinct));
    row("population (N)",
        fmt::format("{}: 72 of 100 units train; in two digits it tells no exact count", advice.population));
    row("tokens", fmt::format("{} in the middle, {} at most, of the first {} records", advice.median_tokens,
                              advice.most_tokens, advice.looked_at));
    row("tokens to keep", describe_advised_tokens(made));
    if (advice.columns.target && !asked.hints.target)
        row("could be guessed",
            fmt::format("{} has a few values; with --target {} --max-tokens {} a run ends with how often it is right "
                        "in held-out records",
                        *advice.columns.target, shell_word(*advice.columns.target), advice.tokens_for_target));
    for (const auto& name : advice.columns.say_nothing) row("says nothing", name + " is empty or always the same");
    print_kinds(made);
    say("  {}\n", suggested(made, asked));
}

void print_questions(const actors::first_config& made, const actors::first_request& asked) {
    say("\nNothing is written yet. A configuration is public, so these are yours to say:\n");
    for (const auto question : made.open) {
        if (question == actors::open_question::how_many) {
            say("  How many units train? --population N: a public number that you declare, no exact count.\n");
            continue;
        }
        std::vector<std::string> names;
        for (const auto* column : made.found.identifiers())
            if (column->named != data::naming::identity) names.push_back(column->name);
        say("  Whose is a record? {}--person COLUMN protects all records of one person together, --record each by "
            "itself.\n",
            names.empty() ? std::string()
                          : fmt::format("By {} name{}, {} may say it. ", names.size() == 1 ? "its" : "their",
                                        names.size() == 1 ? "" : "s", fmt::join(names, ", ")));
    }
    if (made.in_the_way)
        say("  {} or its template is there already: --out names another, --force overwrites it.\n",
            asked.config.string());
}

void print_plan(const actors::first_config& made, const actors::first_request& asked) {
    say("\nplanned\n");
    const auto row = [](const std::string& key, const std::string& value) { say("  {:<24}{}\n", key, value); };
    row("privacy.population", fmt::format("{}, as declared; public", made.plan.population));
    row("privacy.delta", fmt::format("{:g}: a tenth of 1/N or less", made.plan.delta));
    row("privacy.book", fmt::format("{}, by the file's name: what all runs on this population spend adds up there",
                                    make_book_name(bare_name(asked.name()))));
    row("data.max_tokens", fmt::format("{}: memory grows with it; PRIVATE: {} of the {} records looked at are cut",
                                       made.plan.max_tokens, made.advice.cut, made.advice.looked_at));
    if (made.has_made_up_rows)
        row("public",
            fmt::format("{}: rows made up of the declared types teach how one is told, for no ε", data::proposed_rows));
    else if (made.has_template)
        row("public",
            "nothing; where --type says of each column what it may hold, made-up rows teach how a row is told");
    row("batch, steps",
        fmt::format("{} units in each of {} steps, {:.3g} times through the data", made.expected_batch_size,
                    made.plan.steps, static_cast<double>(made.plan.steps) * made.plan.sample_rate));
    row("memory", fmt::format("about {:.0f} MiB", static_cast<double>(made.plan.memory.total()) / (1 << 20)));
    print_time(made.time, row);
    say("\nwhat ε costs: noise on the sum of a batch, in clip radii; what is left of it over\n"
        "the steps, for in bands they take some back; and that per unit of the batch\n");
    std::vector<std::vector<std::string>> rows = {{"  ε", "noise", "bands", "left", "per unit", ""}};
    for (const auto& one : made.budgets)
        rows.push_back({fmt::format("  {:g}", one.epsilon), fmt::format("{:.3g}", one.noise_multiplier),
                        fmt::format("{}", one.bands), fmt::format("{:.3g}", one.noise_left),
                        fmt::format("{:.3g}", one.noise_per_unit), one.epsilon == asked.epsilon ? "as written" : ""});
    say_text(eval::text_table(rows));
    for (const auto& warning : made.plan.warnings) say("warning: {}\n", warning);
    const auto config = asked.config.string();
    say("\nwrote {}{}\nnext:\n", config,
        made.has_template
            ? fmt::format(" and {}, how a row is told; change both as you like", asked.table_template.string())
            : "");
    const auto* const pipe = is_piped(asked.data) ? "python3 -m rldp rows FILE | " : "";
    say("  {}rldp preview {}   what training will see\n  {}rldp run {}\n", pipe, config, pipe, config);
}

/// What the columns come to and what is asked; what values suggest stands under "private".
nlohmann::ordered_json describe_in_json(const actors::first_config& made, const actors::first_request& asked) {
    using json = nlohmann::ordered_json;
    const auto& advice = made.advice;
    json out{{"data", asked.data.string()}, {"kind", describe_data(made.found)},
             {"columns", json::array()},    {"open", json::array()},
             {"config", nullptr},           {"template", nullptr}};
    for (const auto& column : made.found.columns)
        out["columns"].push_back({{"name", column.name}, {"becomes", describe_column(column, made)}});
    for (const auto question : made.open)
        out["open"].push_back(question == actors::open_question::whose ? "person" : "population");
    if (made.open.empty()) {
        out["config"] = asked.config.string();
        if (made.has_template) out["template"] = asked.table_template.string();
        out["epsilon"] = asked.epsilon;
        out["delta"] = made.plan.delta;
        out["population"] = made.plan.population;
        out["expected_batch_size"] = made.expected_batch_size;
        out["steps"] = made.plan.steps;
        out["budgets"] = json::array();
        for (const auto& one : made.budgets)
            out["budgets"].push_back({{"epsilon", one.epsilon},
                                      {"noise_multiplier", one.noise_multiplier},
                                      {"bands", one.bands},
                                      {"noise_left", one.noise_left},
                                      {"noise_per_unit", one.noise_per_unit}});
        out["warnings"] = made.plan.warnings;
    }
    const auto text = [](const std::optional<std::string>& word) { return word ? json(*word) : json(nullptr); };
    auto beyond = json::array();
    for (const auto* column : find_beyond_types(made))
        beyond.push_back({{"column", column->name}, {"values", column->values}, {"beyond", column->beyond_type}});
    out["private"] = {{"records", made.found.records},
                      {"units", advice.units},
                      {"population", advice.population},
                      {"max_tokens", advice.max_tokens},
                      {"median_tokens", advice.median_tokens},
                      {"most_tokens", advice.most_tokens},
                      {"person", text(advice.columns.person)},
                      {"target", text(advice.columns.target)},
                      {"say_nothing", advice.columns.say_nothing},
                      {"beyond_type", std::move(beyond)},
                      {"command", suggested(made, asked)}};
    return out;
}

int init(const init_arguments& given) {
    if (!std::isfinite(given.epsilon) || given.epsilon <= 0) refuse("--epsilon: give a finite number above 0");
    if (given.record && !given.person.empty() && given.person != "none")
        refuse("init: --record protects each record by itself, --person all of one person's; give one of them");
    if (is_piped(given.data) && given.out.empty())
        refuse("init: rows from standard input have no name; give --out NAME.json");
    const fs::path config = given.out.empty() ? bare_name(given.data) + ".json" : given.out;
    actors::first_request asked{
        .data = given.data,
        .model = given.model,
        .config = config,
        .table_template = fs::path(config).replace_extension(".template.json"),
        .epsilon = given.epsilon,
        .hints = {.person = {}, .left_out = given.left_out, .kept = given.kept, .types = given.types},
        .population = given.population,
        .max_tokens = given.max_tokens,
        .overwrite = given.force};
    if (given.record) asked.hints.person = "none";
    if (!given.person.empty()) asked.hints.person = given.person;
    if (!given.target.empty()) asked.hints.target = given.target;
    const auto made = actors::write_first_config(asked);
    const int status = made.open.empty() ? 0 : static_cast<int>(errc::bad_input);
    if (given.json) {
        say("{}\n",
            describe_in_json(made, asked).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
        return status;
    }
    say("{}: {} (its values are private; none is shown)\n", given.data, describe_data(made.found));
    print_columns(made);
    for (const auto& name : given.kept)
        say("warning: {} is told as it is. A model can learn it by heart, and whoever knows it finds its records' "
            "owner\n",
            name);
    if (!made.open.empty()) {
        print_advice(made, asked);
        print_readings(made);
        print_beyond_types(made);
        print_questions(made, asked);
        return status;
    }
    print_readings(made);
    print_beyond_types(made);
    print_plan(made, asked);
    return status;
}

}  // namespace

void add_init(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "init");
    auto given = std::make_shared<init_arguments>();
    command
        ->add_option("data", given->data,
                     "the records: .csv, .tsv, .jsonl or .txt, packed (.gz, .zst) or not; - for rows through a pipe")
        ->required();
    command->add_option("--model", given->model, "directory of the Hugging Face model to fine-tune")->required();
    command->add_option("--person", given->person,
                        "column that says whose a record is: all records of one person are protected together");
    command->add_flag("--record", given->record, "each record is protected by itself");
    command->add_option("--population", given->population, "N, how many units train: a public number that you declare")
        ->check(CLI::PositiveNumber);
    command->add_option("--max-tokens", given->max_tokens, "of a record; longer ones are cut (default 512)")
        ->check(CLI::PositiveNumber);
    command->add_option("--leave-out", given->left_out, "column that is not told; repeatable")->allow_extra_args(false);
    command
        ->add_option("--keep-identifier", given->kept,
                     "column that is told although its name is an identifier's: its values stand in what is learned; "
                     "repeatable")
        ->allow_extra_args(false);
    command
        ->add_option("--type", given->types,
                     "what a column's values may be, for rldp synthesize: age=integer:0:120 price=number:0:100:0.01 "
                     "sex=category:female,male seen=date:2019-01-01:2024-12-31 icd=code:[A-Z][0-9]{2} note=text:200; "
                     "a category with a comma stands in quotes (\"F,x\",M); public, and repeatable")
        ->allow_extra_args(false);
    command->add_option("--target", given->target, "column to be guessed in held-out records at the end; or none");
    command->add_option("--epsilon", given->epsilon, "budget (default 4)");
    command->add_option("--out", given->out,
                        "configuration to write (default NAME-OF-DATA.json here); its template beside it");
    command->add_flag("--force", given->force, "overwrite a configuration and a template that are there already");
    command->add_flag("--json", given->json, "print as JSON; what is under \"private\" is for the owner alone");
    command->footer(
        "Without --population, or where a column could say whose a record is and neither --person nor --record is "
        "given, it\n"
        "advises, asks and writes nothing.\n"
        "Example: rldp init patients.csv --model models/gpt2 --person patient_id --population 4300");
    command->callback([given, &chosen] { chosen = [given] { return init(*given); }; });
}

}  // namespace rldp::app
