#include "tests/noninterference/program.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "config/base/files.hpp"
#include "tests/support/whole_program.hpp"

namespace rldp::testing {

namespace {

void redirect(int descriptor, const char* file) {
    const int to = ::open(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (to < 0 || ::dup2(to, descriptor) < 0) ::_exit(70);
}

/// A timer of this process's own, so that whoever waits for it has nothing to do.
void expect(int signal, std::chrono::microseconds after) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal;
    timer_t timer{};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(after);
    itimerspec when{};
    when.it_value = {seconds.count(), std::chrono::nanoseconds(after - seconds).count() + 1};
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || ::timer_settime(timer, 0, &when, nullptr) != 0)
        ::_exit(70);
}

void limit_files(std::uint64_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(70);
}

[[noreturn]] void become(const call& what) {
    ::alarm(120);
    // Those are the test framework's.
    for (const int number : {SIGINT, SIGTERM, SIGSEGV, SIGFPE, SIGILL, SIGABRT}) std::signal(number, SIG_DFL);
    if (::chdir(what.directory.c_str()) != 0) ::_exit(70);
    redirect(STDIN_FILENO, "/dev/null");
    redirect(STDOUT_FILENO, "stdout");
    redirect(STDERR_FILENO, "stderr");
    for (const auto& [name, value] : what.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (what.signal != 0) expect(what.signal, what.after);
    if (what.file_limit) limit_files(*what.file_limit);
    const int status = whole_program(what.arguments);
    std::fflush(nullptr);
    ::_exit(status);
}

}  // namespace

answer rldp_says(const call& what) {
    std::filesystem::create_directories(what.directory);
    std::fflush(nullptr);
    const auto child = ::fork();
    if (child == 0) become(what);
    int state = 0;
    ::waitpid(child, &state, 0);
    return {WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state), read_file(what.directory / "stdout"),
            read_file(what.directory / "stderr")};
}

std::map<std::string, std::string> files_below(const std::filesystem::path& root) {
    std::map<std::string, std::string> out;
    if (!std::filesystem::exists(root)) return out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
        if (entry.is_regular_file())
            out[std::filesystem::relative(entry.path(), root).string()] = read_file(entry.path());
    return out;
}

}  // namespace rldp::testing
