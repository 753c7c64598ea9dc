#include "tests/noninterference/program.hpp"

#include <fcntl.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "base/files.hpp"
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

[[noreturn]] void become(const call& what, int terminal) {
    constexpr unsigned an_eternity =
        3600;  // seconds; only so that a hanging one does not outlive a test that was ended
    ::alarm(an_eternity);
    // Those are the test framework's.
    for (const int number : {SIGINT, SIGTERM, SIGSEGV, SIGFPE, SIGILL, SIGABRT}) std::signal(number, SIG_DFL);
    if (::chdir(what.directory.c_str()) != 0) ::_exit(70);
    redirect(STDIN_FILENO, "/dev/null");
    if (terminal >= 0) {
        ::dup2(terminal, STDOUT_FILENO);
        ::dup2(terminal, STDERR_FILENO);
    } else {
        redirect(STDOUT_FILENO, "stdout");
        redirect(STDERR_FILENO, "stderr");
    }
    for (const auto& [name, value] : what.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (what.signal != 0) expect(what.signal, what.after);
    if (what.file_limit) limit_files(*what.file_limit);
    const int status = whole_program(what.arguments);
    std::fflush(nullptr);
    ::_exit(status);
}

}  // namespace

namespace {

/// All that comes from a terminal until its last user is gone.
std::string read_all(int terminal) {
    std::string out;
    std::array<char, 4096> some;
    for (;;) {
        const auto got = ::read(terminal, some.data(), some.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return out;  // EIO: it was hung up
        out.append(some.data(), static_cast<std::size_t>(got));
    }
}

int wait_status(pid_t child) {
    int state = 0;
    ::waitpid(child, &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace

answer rldp_says(const call& what) {
    std::filesystem::create_directories(what.directory);
    std::fflush(nullptr);
    int ours = -1, theirs = -1;
    winsize size{24, 80, 0, 0};
    if (what.terminal && ::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0)
        throw std::runtime_error("no terminal can be made");
    const auto child = ::fork();
    if (child == 0) become(what, theirs);
    if (!what.terminal) {
        const int status = wait_status(child);
        return {status, read_file(what.directory / "stdout"), read_file(what.directory / "stderr")};
    }
    ::close(theirs);
    auto shown = read_all(ours);
    ::close(ours);
    return {wait_status(child), "", std::move(shown)};
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
