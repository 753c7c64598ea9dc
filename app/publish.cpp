// rldp publish --check: what would leave the house with a run's public side, before it does.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/report/certificate.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::app {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

struct publish_arguments {
    std::string run;
    bool check = false, json = false;
};

struct kind_of_file {
    std::string_view name, says;  ///< a name that ends in / is a directory's
};
/// What is in a run's public side, and what it tells.
constexpr std::array kinds{
    kind_of_file{"adapter/README.md", "model card: base, contract, digests"},
    kind_of_file{"adapter/", "trained numbers, in the contract"},
    kind_of_file{"model/README.md", "model card: base, contract, digests"},
    kind_of_file{"model/", "trained numbers, in the contract, and the base's own"},
    kind_of_file{"ledger.jsonl", "what was charged; no value of a record"},
    kind_of_file{"metrics.jsonl", "releases and looks, in the contract"},
    kind_of_file{"metrics.csv", "releases and looks, in the contract"},
    kind_of_file{"tensorboard/", "releases and looks, in the contract"},
    kind_of_file{"summary.json", "numbers at the end; names of model and data, run.name, tags and notes; samples"},
    kind_of_file{"report.html", "the summary as a page"},
    kind_of_file{"config.json", "the configuration, with file names in place of paths"},
    kind_of_file{"template.json", "the template's words, types and codes, as its owner declared them"},
    kind_of_file{"certificate.json", "the promise, digests of all files, the owner's signature"},
    kind_of_file{"certificate.html", "the promise as a page"},
};

std::string_view describe(const std::string& name) {
    for (const auto& kind : kinds)
        if (name == kind.name || (kind.name.ends_with('/') && name.starts_with(kind.name))) return kind.says;
    return "";
}

struct leaving_file {
    std::string name;
    std::uintmax_t bytes;
    std::string_view says;  ///< empty where it is none of a run's
};

/// Words that an owner chose, and that go out as they are.
std::vector<std::pair<std::string, std::string>> list_words(const eval::run_summary& run) {
    std::vector<std::pair<std::string, std::string>> out{
        {"run.name", run.name}, {"model", run.model}, {"data", run.data}};
    for (const auto& tag : run.tags) out.emplace_back("run.tags", tag);
    if (!run.notes.empty()) out.emplace_back("run.notes", run.notes);
    return out;
}

std::vector<leaving_file> list_files(const eval::run_directory& where) {
    std::vector<leaving_file> out;
    for (const auto& entry : entries_below(where.public_side())) {
        if (entry.is_directory()) continue;
        const auto name = entry.path().lexically_relative(where.public_side()).generic_string();
        out.push_back({name, entry.is_regular_file() ? entry.file_size() : 0, describe(name)});
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return out;
}

/// What speaks against handing it on, a sentence each.
struct findings {
    std::vector<std::string> problems, notes;
};

findings look_through(const eval::run_directory& where, const std::vector<leaving_file>& files,
                      const eval::run_summary& run) {
    findings out;
    try {
        const auto checked = eval::verify_run(where, std::nullopt);
        for (const auto& why : checked.found.promised.voids) out.problems.push_back("no guarantee: " + why);
        if (!checked.found.signer)
            out.notes.emplace_back("the certificate is unsigned; rldp sign RUN --key KEY signs it");
    } catch (const error& wrong) {
        if (wrong.code() != errc::bad_input) throw;
        out.problems.emplace_back(wrong.what());
    }
    for (const auto& file : files)
        if (file.says.empty()) out.problems.push_back(fmt::format("public/{} is none of a run's files", file.name));
    if (run.held_out == publication::raw)
        out.problems.emplace_back(
            "eval.publish is raw: figures of held-out units are exact, and nothing protects them");
    return out;
}

constexpr int not_fit = 4;  ///< exit status, as of rldp verify

int publish(const publish_arguments& given) {
    if (!given.check)
        refuse(
            "publish: nothing is sent from here; --check says what would leave, then for example huggingface-cli "
            "upload NAME RUN/public/adapter");
    const auto where = eval::run_at(given.run);
    if (!fs::exists(where.summary()))
        refuse(fmt::format("{0}: holds no run that has ended; rldp run --resume {0} goes on with one that was cut",
                           where.root.string()));
    const auto run = eval::parse_summary(read_text(where.summary()));
    const auto files = list_files(where);
    const auto [problems, notes] = look_through(where, files, run);
    const auto words = list_words(run);
    if (given.json) {
        json out{{"files", json::array()}, {"words", json::array()}, {"problems", problems}, {"notes", notes}};
        for (const auto& file : files)
            out["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"says", file.says}});
        for (const auto& [key, word] : words) out["words"].push_back({{"key", key}, {"word", word}});
        say("{}\n", out.dump(-1, ' ', false, json::error_handler_t::replace));
        return problems.empty() ? 0 : not_fit;
    }
    std::vector<std::vector<std::string>> rows = {{"  would leave", "bytes", "what it says"}};
    for (const auto& file : files)
        rows.push_back({"  public/" + file.name, fmt::format("{}", file.bytes), std::string(file.says)});
    say_text(eval::text_table(rows));
    say("words that go with it as they are:\n");
    for (const auto& [key, word] : words) say("  {:<12}{}\n", key, word);
    say("stays here: trusted/ ({})\n", where.trusted_side().string());
    for (const auto& note : notes) say("note: {}\n", note);
    for (const auto& problem : problems) say("look at this first: {}\n", problem);
    return problems.empty() ? 0 : not_fit;
}

}  // namespace

void add_publish(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("publish", "Say what would leave the house with a run; sends nothing");
    auto given = std::make_shared<publish_arguments>();
    command->add_option("run", given->run, "run directory, or its public/")->required();
    command->add_flag("--check", given->check, "list files and words, and what speaks against handing them on");
    command->add_flag("--json", given->json, "print as JSON");
    command->footer(
        "Example: rldp publish --check runs/first\nExit status: 0 nothing speaks against it, 4 something does, 2 there "
        "is no run that has ended");
    command->callback([given, &chosen] { chosen = [given] { return publish(*given); }; });
}

}  // namespace rldp::app
