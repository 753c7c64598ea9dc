// rldp init: from a file of records to a configuration that runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>

#include "actors/run/first/first_config.hpp"
#include "app/commands.hpp"
#include "app/torch_commands.hpp"
#include "config/base/data_name.hpp"
#include "config/base/error.hpp"
#include "config/base/output.hpp"
#include "eval/report/text_table.hpp"

namespace rldp::app {

namespace {

namespace fs = std::filesystem;

struct init_arguments {
    std::string data, model, out, person, target;
    double epsilon = 4;
    bool force = false;
};

std::string fate_of(const data::column_facts& column, const actors::first_config& made) {
    const auto& found = made.found;
    switch (column.role) {
        case data::column_role::told:
            return made.target_fits && column.name == found.target
                       ? "told; its value will be guessed at the end (eval.target)"
                       : "told";
        case data::column_role::prose:
            return "told as it is";
        case data::column_role::record:
            return "names the record; never told";
        case data::column_role::person:
            return "the person: all their records are protected together; never told";
        case data::column_role::left_out:
            return found.has_text || found.has_chats ? "not read"
                   : column.type == data::column_type::empty || column.type == data::column_type::constant
                       ? "left out, for it says nothing"
                       : "left out, for it could tell who somebody is";
    }
    return "";
}

std::string kind_of(const data::survey& found) {
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
    std::vector<std::vector<std::string>> rows = {{"  column", "type", "what becomes of it"}};
    for (const auto& column : found.columns)
        rows.push_back({"  " + printable(column.name), name_of(column.type), fate_of(column, made)});
    say_text(eval::text_table(rows));
}

void print(const actors::first_config& made, const actors::first_request& asked) {
    const auto& found = made.found;
    say("{}: {} (its values are private; none is shown)\n", asked.data.string(), kind_of(found));
    print_columns(made);
    if (!found.columns.empty() && !found.find(data::column_role::person))
        say("  No column says whose a record is: each record is protected by itself. If somebody can have several, "
            "name the "
            "column with --person.\n");
    if (found.target && !made.target_fits)
        say("  {} would be a value to guess (eval.target), but records are too long for the model's window of "
            "tokens.\n",
            *found.target);
    say("\nPRIVATE: {} records{}; {} tokens in the middle, {} at most, of the first {}\n", found.records,
        found.find(data::column_role::person) ? fmt::format(" of {} persons", made.units) : "", made.median_tokens,
        made.most_tokens, made.looked_at);
    say("\nproposed\n");
    const auto row = [](const std::string& key, const std::string& value) { say("  {:<24}{}\n", key, value); };
    row("privacy.population",
        fmt::format("{}: rounded from your file, and public; write another if even that may not be told",
                    made.plan.population));
    row("privacy.delta", fmt::format("{:g}: a tenth of 1/N or less", made.plan.delta));
    row("data.max_tokens",
        fmt::format("{}: time and memory grow with it; PRIVATE: {} of the {} records looked at are cut",
                    made.plan.max_tokens, made.cut, made.looked_at));
    row("batch, steps",
        fmt::format("{} units in each of {} steps, {:.3g} times through the data", made.expected_batch_size,
                    made.plan.steps, static_cast<double>(made.plan.steps) * made.plan.sample_rate));
    row("memory", fmt::format("about {:.0f} MiB", static_cast<double>(made.plan.memory.total()) / (1 << 20)));
    say("\nwhat ε costs: the noise on the sum of a batch, in clip radii, and per unit of the batch\n");
    std::vector<std::vector<std::string>> rows = {{"  ε", "noise", "per unit", ""}};
    for (const auto& one : made.budgets)
        rows.push_back({fmt::format("  {:g}", one.epsilon), fmt::format("{:.3g}", one.noise_multiplier),
                        fmt::format("{:.3g}", one.noise_per_unit), one.epsilon == asked.epsilon ? "as written" : ""});
    say_text(eval::text_table(rows));
    for (const auto& warning : made.plan.warnings) say("warning: {}\n", warning);
    say("\nwrote {}{}\nnext:\n  rldp preview {}   what training will see\n  rldp run {}\n", asked.config.string(),
        made.has_template
            ? fmt::format(" and {}, how a row is told; change both as you like", asked.table_template.string())
            : "",
        asked.config.string(), asked.config.string());
}

int init(const init_arguments& given) {
    if (!std::isfinite(given.epsilon) || given.epsilon <= 0) refuse("--epsilon: give a finite number above 0");
    const fs::path config = given.out.empty() ? bare_name(given.data) + ".json" : given.out;
    actors::first_request asked{.data = given.data,
                                .model = given.model,
                                .config = config,
                                .table_template = fs::path(config).replace_extension(".template.json"),
                                .epsilon = given.epsilon,
                                .hints = {},
                                .overwrite = given.force};
    if (!given.person.empty()) asked.hints.person = given.person;
    if (!given.target.empty()) asked.hints.target = given.target;
    print(actors::write_first_config(asked), asked);
    return 0;
}

}  // namespace

void add_init(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "init");
    auto given = std::make_shared<init_arguments>();
    command->add_option("data", given->data, "the records: .csv, .tsv, .jsonl or .txt, packed (.gz, .zst) or not")
        ->required();
    command->add_option("--model", given->model, "directory of the Hugging Face model to fine-tune")->required();
    command->add_option(
        "--person", given->person,
        "column that says whose a record is: all records of one are protected together; none: each by itself");
    command->add_option("--target", given->target, "column to be guessed in held-out records at the end; or none");
    command->add_option("--epsilon", given->epsilon, "budget (default 4)");
    command->add_option("--out", given->out,
                        "configuration to write (default NAME-OF-DATA.json here); its template beside it");
    command->add_flag("--force", given->force, "overwrite a configuration and a template that are there already");
    command->footer("Example: rldp init patients.csv --model models/gpt2 --person patient_id");
    command->callback([given, &chosen] { chosen = [given] { return init(*given); }; });
}

}  // namespace rldp::app
