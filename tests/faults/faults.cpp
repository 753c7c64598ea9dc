// Plays cases of faults against the program and says what came of each (docs/reliability.md). Status 1 if any
// failed.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/faults/classes.hpp"
#include "tests/faults/memory_group.hpp"
#include "tests/faults/results.hpp"
#include "tests/faults/shim/plan.hpp"
#include "tests/support/whole_program.hpp"

namespace {

using namespace rldp::testing;

struct options {
    ground on;
    std::uint64_t seed = 1, cases = 200, first = 0;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    path results;
    std::string only;
    bool keep = false;
};

/// The program is linked to this one, as is the library of faults.
void become_program(char** argv, char** envp) {
    environ = envp;
    shim::obey();
    std::vector<std::string> arguments;
    while (*++argv != nullptr) arguments.emplace_back(*argv);
    ::_exit(whole_program(arguments));  // LibTorch takes as long to end as it does to start
}

verdict play(const options& how, std::uint64_t number, const path& root) try {
    std::seed_seq mixed{how.seed, number};
    trial t{how.on, root, generator(mixed)};
    return find_class(number).play(t);
} catch (const std::exception& e) {
    return {"FAILED", std::string("the harness itself: ") + e.what()};
}

void one_case(const options& how, std::uint64_t number) {
    const auto root = how.on.scratch / fmt::format("case-{}", number);
    const auto began = std::chrono::steady_clock::now();
    const auto ended = play(how, number, root);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    append(how.results, {how.seed, number, find_class(number).name, ended, took.count()});
    if (!how.keep) std::filesystem::remove_all(root);
}

std::vector<std::uint64_t> cases_left(const options& how) {
    std::set<std::uint64_t> done;
    for (const auto& one : read_results(how.results, how.seed)) done.insert(one.number);
    std::vector<std::uint64_t> out;
    for (auto number = how.first; number < how.first + how.cases; ++number)
        if (done.count(number) == 0 && (how.only.empty() || find_class(number).name == how.only)) out.push_back(number);
    return out;
}

/// Workers are processes, as fork and threads don't go together; they share the number of the next case.
void play_all(const options& how, const std::vector<std::uint64_t>& numbers) {
    void* shared =
        ::mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::runtime_error("mmap failed");
    auto& next = *new (shared) std::atomic<std::size_t>(0);
    std::vector<pid_t> workers;
    std::fflush(nullptr);
    for (unsigned i = 0; i < how.jobs; ++i) {
        const auto id = ::fork();
        if (id == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (auto at = next++; at < numbers.size(); at = next++) one_case(how, numbers[at]);
            ::_exit(0);
        }
        workers.push_back(id);
    }
    for (const auto id : workers) ::waitpid(id, nullptr, 0);
}

int work(options& how) {
    auto pattern = (std::filesystem::temp_directory_path() / "rldp-faults-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error(pattern + ": can't be made");
    how.on.scratch = pattern;
    if (how.results.empty()) how.results = how.on.scratch / "results.tsv";
    const auto began = std::chrono::steady_clock::now();
    how.on.prepare();
    if (memory_group("probe", 1 << 30).door().empty())
        fmt::print("no control group of memory can be made here: the cases of that class are undisturbed runs\n");
    const auto numbers = cases_left(how);
    play_all(how, numbers);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;

    const auto all = read_results(how.results, how.seed);
    fmt::print("{}{} cases here in {:.0f} s\n", format_table(all), numbers.size(), took.count());
    const auto left = cases_left(how).size();
    if (left > 0) fmt::print("{} cases have no result: a worker died\n", left);
    if (how.keep)
        fmt::print("kept: {}\n", how.on.scratch.string());
    else
        std::filesystem::remove_all(how.on.scratch);
    return any_failed(all) || left > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    options how;
    CLI::App program("Faults against rldp, and one oracle for all of them.", "faults");
    program.add_option("--program", how.on.program, "rldp")->required()->check(CLI::ExistingFile);
    program.add_option("--shim", how.on.shim, "the library that is preloaded")->required()->check(CLI::ExistingFile);
    program.add_option("--sources", how.on.sources, "the repository, for config/")->required();
    program.add_option("--cases", how.cases, "how many")->envname("RLDP_FAULTS");
    program.add_option("--first", how.first, "number of the first: with --cases 1 repeats one");
    program.add_option("--seed", how.seed, "of all cases")->envname("RLDP_FAULT_SEED");
    program.add_option("--jobs", how.jobs, "cases at a time");
    program.add_option("--only", how.only, "one class of faults");
    program.add_option("--results", how.results, "file that results are appended to; cases in it are not played again");
    program.add_option("--sabotage", how.on.sabotage,
                       "an order that the library always gets, such as fsync:ledger.jsonl:0:drop");
    program.add_flag("--keep", how.keep, "keep all files");
    CLI11_PARSE(program, argc, argv);
    try {
        how.on.forked = become_program;
        for (auto* file : {&how.on.program, &how.on.shim, &how.on.sources}) *file = std::filesystem::absolute(*file);
        return work(how);
    } catch (const std::exception& e) {
        fmt::print(stderr, "faults: {}\n", e.what());
        return 1;
    }
}
