#include "tests/faults/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "base/system.hpp"

namespace rldp::testing {

namespace {

constexpr std::chrono::seconds patience{60};

/// How long its threads were ready to run and got no processor: on a busy machine that is not the program's fault.
microseconds starved(pid_t id) {
    std::chrono::nanoseconds out{};
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(id) + "/task", gone)) {
        std::ifstream times(task.path() / "schedstat");
        std::uint64_t ran = 0, waited = 0;
        if (times >> ran >> waited) out += std::chrono::nanoseconds(waited);
    }
    return std::chrono::duration_cast<microseconds>(out);
}

void direct(int descriptor, stream where, const std::string& file) {
    int to = -1;
    if (where == stream::closed) {
        ::close(descriptor);
        return;
    }
    if (where == stream::kept) to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (where == stream::full_device) to = ::open("/dev/full", O_WRONLY);
    if (where == stream::broken_pipe) {
        int ends[2];
        if (::pipe(ends) != 0) ::_exit(70);
        ::close(ends[0]);
        to = ends[1];
    }
    if (to < 0 || ::dup2(to, descriptor) < 0) ::_exit(70);
    if (to != descriptor) ::close(to);
}

/// This process becomes one of the group's.
bool join(const path& group) {
    const int file = ::open(group.c_str(), O_WRONLY | O_CLOEXEC);
    return file >= 0 && ::write(file, "0", 1) == 1;
}

}  // namespace

beginning executed(const path& program) {
    return [program](char** argv, char** envp) { ::execve(program.c_str(), argv, envp); };
}

process::process(const beginning& program, const command& what, const path& folder) : folder_(folder) {
    std::filesystem::create_directories(folder);
    std::vector<std::string> words{"rldp"};
    words.insert(words.end(), what.arguments.begin(), what.arguments.end());
    auto settings = environment_with(what.environment);
    auto argv = pointers_to(words), envp = pointers_to(settings);
    const auto out = (folder / "stdout").string(), err = (folder / "stderr").string();
    const auto parent = ::getpid();
    std::fflush(nullptr);  // nothing is printed twice
    id_ = ::fork();
    if (id_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (id_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(70);
        ::signal(SIGPIPE, SIG_DFL);
        direct(STDIN_FILENO, stream::kept, "/dev/null");
        direct(STDOUT_FILENO, what.out, out);
        direct(STDERR_FILENO, what.err, err);
        for (const auto& [resource, value] : what.limits) {
            // The journal is no file of the run: the library may lift these for it.
            rlimit limit{};
            ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
            limit.rlim_cur = value;
            if (resource != RLIMIT_FSIZE && resource != RLIMIT_NOFILE) limit.rlim_max = value;
            if (::setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) ::_exit(70);
        }
        if (!what.group.empty() && !join(what.group)) ::_exit(70);
        program(argv.data(), envp.data());
        ::_exit(71);
    }
    handle_ = static_cast<int>(::syscall(SYS_pidfd_open, id_, 0));
    if (handle_ < 0) throw std::runtime_error(std::string("pidfd_open: ") + std::strerror(errno));
}

process::~process() {
    if (!over_) {
        signal(SIGKILL);
        ::waitpid(id_, nullptr, 0);
    }
    ::close(handle_);
}

bool process::ends_within(microseconds time) const {
    pollfd watched{handle_, POLLIN, 0};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec limit{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
    return ::ppoll(&watched, 1, &limit, nullptr) > 0;
}

void process::signal(int number) const {
    ::kill(id_, number);
}

std::vector<pid_t> process::children() const {
    const auto id = std::to_string(id_);
    std::ifstream list("/proc/" + id + "/task/" + id + "/children");
    std::vector<pid_t> out;
    for (pid_t child = 0; list >> child;) out.push_back(child);
    return out;
}

answer process::wait() {
    using clock = std::chrono::steady_clock;
    answer out;
    const auto began = clock::now();
    while (!out.hung && !ends_within(std::chrono::seconds(1)))
        out.hung = clock::now() - began > patience + starved(id_);
    if (out.hung) signal(SIGKILL);
    int state = 0;
    ::waitpid(id_, &state, 0);
    over_ = true;
    out.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    out.out = read_content(folder_ / "stdout");
    out.err = read_content(folder_ / "stderr");
    return out;
}

}  // namespace rldp::testing
