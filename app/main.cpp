// rldp: private fine-tuning of language models under an (ε, δ) contract. This file only picks the subcommand; those
// that need LibTorch are rldp-torch's.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/blas_kernels.hpp"
#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/output.hpp"

namespace {

using rldp::app::torch_program;

/// Whose subcommand a command line names; nothing where it is one of this program's.
std::optional<torch_program> find_owner(const std::vector<std::string_view>& words) {
    const auto found = std::find_if(rldp::app::torch_commands.begin(), rldp::app::torch_commands.end(),
                                    [&](const auto& each) { return !words.empty() && each.name == words.front(); });
    if (found == rldp::app::torch_commands.end()) return std::nullopt;
    // A comparison that was written down beforehand is a paper's.
    const bool has_protocol = found->name == "compare" && std::any_of(words.begin(), words.end(), [](const auto& word) {
                                  return word == "--protocol" || word.starts_with("--protocol=");
                              });
    return has_protocol ? torch_program::research : found->of;
}

/// Beside this program where it was built, under lib/ where it was installed.
std::filesystem::path find_program(torch_program which) {
    const auto* const name = which == torch_program::research ? "rldp-research" : "rldp-torch";
    std::error_code unknown;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
    const auto beside = here / name;
    return std::filesystem::exists(beside, unknown) ? beside : here.parent_path() / "lib/rldp" / name;
}

/// Before main(), LibTorch's libraries end or wait forever where they may not map what they need: a GiB of their
/// own, and OpenBLAS's buffers, one per processor.
bool may_map_torch() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    constexpr rlim_t mib = rlim_t{1} << 20;
    const auto needed = 1024 * mib + std::thread::hardware_concurrency() * 128 * mib;
    if (limit.rlim_cur >= needed) return true;
    rldp::say(
        stderr,
        "rldp: the limit on addresses (ulimit -v) is {} MiB, and LibTorch needs {}; raise it, or limit memory by a "
        "control group\n",
        limit.rlim_cur / mib, needed / mib);
    return false;
}

/// A thread's stack is of the limit's size, too, and LibTorch's are deep.
bool has_room_for_stacks() {
    rlimit limit{};
    constexpr rlim_t kib = 1024, needed = 512 * kib;
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= needed) return true;
    rldp::say(stderr, "rldp: the limit on stacks (ulimit -s) is {} KiB, and LibTorch needs {}; raise it\n",
              limit.rlim_cur / kib, needed / kib);
    return false;
}

/// LibTorch would warn of another value with two hundred lines. OpenMP allows for a list, a number for each level.
bool may_use_threads() {
    const char* said = std::getenv("OMP_NUM_THREADS");
    if (said == nullptr) return true;
    const std::string_view text(said);
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {  // as some write who mean none
        ::unsetenv("OMP_NUM_THREADS");
        return true;
    }
    if (text.find_first_not_of("0123456789, \t") == std::string_view::npos && text[first] >= '1' && text[first] <= '9')
        return true;
    rldp::say(stderr, "rldp: OMP_NUM_THREADS is \"{}\"; give a whole number from 1 on, or unset it\n", said);
    return false;
}

/// Returns only where it fails.
int become_torch_program(torch_program which, char** argv) {
    if (!may_map_torch() || !has_room_for_stacks() || !may_use_threads())
        return static_cast<int>(rldp::errc::bad_input);
    rldp::app::choose_blas_kernels();
    const auto program = find_program(which);
    ::execv(program.c_str(), argv);
    if (which == torch_program::research) {
        rldp::say(stderr,
                  "rldp: {} is of the research programs, which are not installed; build them from the sources with "
                  "scripts/build.sh rldp-research, and call build/rldp\n",
                  argv[1]);
        return static_cast<int>(rldp::errc::bad_input);
    }
    rldp::say(stderr, "rldp: {}: can't be started ({}); install RLDP whole\n", program.string(), std::strerror(errno));
    return static_cast<int>(rldp::errc::failed);
}

/// For --help: their options are rldp-torch's to declare. Those of a program that is not there are left out.
void list_torch_commands(CLI::App& program, rldp::app::action&) {
    for (const auto& each : rldp::app::torch_commands)
        if (std::error_code unknown;
            each.of == torch_program::everyday || std::filesystem::exists(find_program(each.of), unknown))
            rldp::app::add_torch_command(program, each.name);
}

}  // namespace

int main(int argc, char** argv) {
    // "help key new" is "key new --help".
    std::string option = "--help";
    if (argc > 2 && std::string_view(argv[1]) == "help") {
        std::rotate(argv + 1, argv + 2, argv + argc);
        argv[argc - 1] = option.data();
    }
    if (const auto owner = find_owner({argv + std::min(argc, 1), argv + argc}))
        return become_torch_program(*owner, argv);
    return rldp::app::command_line(
        argc, argv,
        {list_torch_commands, rldp::app::add_account, rldp::app::add_calibrate, rldp::app::add_book,
         rldp::app::add_discover, rldp::app::add_distances, rldp::app::add_runs, rldp::app::add_advise,
         rldp::app::add_dashboard, rldp::app::add_key, rldp::app::add_sign, rldp::app::add_verify,
         rldp::app::add_publish, rldp::app::add_reference, rldp::app::add_version});
}
