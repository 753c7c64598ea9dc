// rldp prepare-controller: a policy for rl.controller, from no one's records.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "app/http_options.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "eval/research/preparation/preparation.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/keys/signing_key.hpp"
#include "rl/prepared/prepared_policy.hpp"

namespace rldp::app {

namespace {

struct prepare_arguments {
    std::string config, out, sign;
    int jobs = 1;
    monitor::http_options dashboard;
    std::optional<double> minutes;
    bool quiet = false;
};

/// What is under way belongs to one preparation: its file, and the configurations that its families begin from. The
/// gate may be asked again, of other tasks or of more.
void claim(const std::filesystem::path& work, const std::string& config, const eval::preparation_file& what) {
    auto file = nlohmann::ordered_json::parse(read_file(config));
    for (const auto* key : {"gate_tasks", "gate_seed"}) file["runs"].erase(key);
    auto asked = file.dump();
    for (const auto* families : {&what.runs.prepared, &what.runs.held_out})
        for (const auto& one : *families) asked += '\n' + one.base.string() + '\n' + read_file(one.base);
    const auto claimed = work / "claim";
    const auto digest = privacy::sha256(asked);
    if (!std::filesystem::exists(claimed)) write_file(claimed, digest);
    if (read_file(claimed) != digest)
        refuse(fmt::format(
            "{}: holds a preparation other than {}, or of other configurations that it builds on; choose another "
            "--out, or remove it",
            work.string(), config));
}

int prepare(const prepare_arguments& given) {
    if (std::filesystem::exists(given.out))
        refuse(given.out + ": exists already; choose another --out, or move it away");
    const auto what = eval::read_preparation(given.config);
    std::optional<privacy::signing_key> key;  // before anything starts: one that can't sign is no surprise for the end
    if (!given.sign.empty()) key = privacy::signing_key::load(given.sign);
    const std::filesystem::path work = given.out + ".work";
    make_directory(work);
    const append_file lock(work / "lock");
    claim(work, given.config, what);
    const auto dashboard = show_dashboard(given.dashboard, work);
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    auto made = eval::prepare_controller(
        what, {.work = work,
               .jobs = given.jobs,
               .said =
                   [&](const auto& line) {
                       if (!given.quiet) say(stderr, "{:8.0f} s  {}\n", passed(), line);
                   },
               .rest =
                   [&] {
                       if (given.minutes && passed() >= 60 * *given.minutes)
                           throw error(errc::interrupted,
                                       "prepare-controller: the minutes are over; call it again to go on");
                   }});
    if (key) made.policy.sign(*key);
    made.policy.save(given.out);
    const auto shown = std::filesystem::path(given.out).replace_extension(".html");
    write_file(shown, eval::preparation_html(made.policy, made.paths));
    for (const auto& sentence : rl::describe_policy(made.policy)) say("{}\n", sentence);
    say("{}\n{}\n", given.out, shown.string());
    return 0;
}

}  // namespace

void add_prepare(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "prepare-controller");
    auto given = std::make_shared<prepare_arguments>();
    command->add_option("config", given->config, "what to prepare on (JSON)")->required();
    command
        ->add_option("--out", given->out,
                     "the policy file; beside it lie its page, and OUT.work with what is under way")
        ->required();
    command->add_option("--jobs", given->jobs, "runs at a time, a process each (default 1)")
        ->check(CLI::Range(1, 1024));
    command
        ->add_option("--minutes", given->minutes,
                     "stop after so many, where another call can go on: after a family of made-up tasks, a generation "
                     "of runs, a stage")
        ->check(CLI::Range(0.0, 1e6));
    command->add_option("--sign", given->sign, "sign the policy with this secret key (rldp key new)");
    command->add_option("--dashboard", given->dashboard.address, "show its runs to browsers at [HOST:]PORT");
    add_access_options(*command, given->dashboard);
    command->add_flag("--quiet", given->quiet, "no progress");
    command->footer(
        "Example: rldp prepare-controller config/policies/prepare.json --jobs 2 --out policy.safetensors\n"
        "Called again with the same --out it goes on where it was.");
    command->callback([given, &chosen] { chosen = [given] { return prepare(*given); }; });
}

}  // namespace rldp::app
