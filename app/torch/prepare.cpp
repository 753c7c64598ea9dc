// rldp prepare-controller: a policy for rl.controller, from no one's records.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>

#include "app/commands.hpp"
#include "app/torch_commands.hpp"
#include "config/base/append_file.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/output.hpp"
#include "eval/preparation/prepare_controller.hpp"
#include "rl/prepare/policy_description.hpp"

namespace rldp::app {

namespace {

struct prepare_arguments {
    std::string config, out;
    int jobs = 1;
    std::optional<double> minutes;
    bool quiet = false;
};

/// What is under way belongs to one file.
void claim(const std::filesystem::path& work, const std::string& config) {
    make_directory(work);
    const auto asked = work / "asked.json", text = std::filesystem::path(config);
    if (!std::filesystem::exists(asked)) write_file(asked, read_file(text));
    if (read_file(asked) != read_file(text))
        refuse(fmt::format("{}: holds another preparation than {}; choose another --out, or remove it", work.string(),
                           config));
}

int prepare(const prepare_arguments& given) {
    if (std::filesystem::exists(given.out))
        refuse(given.out + ": exists already; choose another --out, or move it away");
    const auto what = eval::read_preparation(given.config);
    const std::filesystem::path work = given.out + ".work";
    claim(work, given.config);
    const append_file lock(work / "lock");
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    const auto made = eval::prepare_controller(
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
    made.policy.save(given.out);
    for (const auto& sentence : rl::description_of(made.policy)) say("{}\n", sentence);
    say("{}\n", given.out);
    return 0;
}

}  // namespace

void add_prepare(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "prepare-controller");
    auto given = std::make_shared<prepare_arguments>();
    command->add_option("config", given->config, "what to prepare on (JSON)")->required();
    command->add_option("--out", given->out, "the policy file; beside it OUT.work holds what is under way")->required();
    command->add_option("--jobs", given->jobs, "runs at a time, a process each (default 1)")
        ->check(CLI::Range(1, 1024));
    command
        ->add_option("--minutes", given->minutes,
                     "stop after so many, at the end of a generation; another call goes on")
        ->check(CLI::Range(0.0, 1e6));
    command->add_flag("--quiet", given->quiet, "no progress");
    command->footer(
        "Example: rldp prepare-controller config/prepare.json --jobs 2 --out policy.safetensors\n"
        "Called again with the same --out it goes on where it was.");
    command->callback([given, &chosen] { chosen = [given] { return prepare(*given); }; });
}

}  // namespace rldp::app
