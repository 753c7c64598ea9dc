#include "tests/kill/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "base/system.hpp"

namespace rldp::testing {

namespace {

void require(int result, const char* what) {
    if (result != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(result));
}

}  // namespace

child::child(const std::vector<std::string>& arguments, const std::filesystem::path& output) {
    std::array<int, 2> ends{};
    require(::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe");
    alive_ = ends[0];

    std::vector<std::string> words = {RLDP_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    auto settings = environment_with({{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}});
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    constexpr int kept_open = 100;  // the pipe's other end, which the kernel closes with the process
    posix_spawn_file_actions_adddup2(&files, ends[1], kept_open);
    const int failed =
        ::posix_spawn(&id_, RLDP_PROGRAM, &files, nullptr, pointers_to(words).data(), pointers_to(settings).data());
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    require(failed, RLDP_PROGRAM);
}

child::~child() {
    kill();
    ::close(alive_);
}

bool child::ends_within(std::chrono::microseconds time) const {
    pollfd watched{alive_, POLLIN, 0};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec limit{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
    return ::ppoll(&watched, 1, &limit, nullptr) > 0;
}

bool child::stop() {
    if (status_ >= 0) return false;
    ::kill(id_, SIGSTOP);
    int state = 0;
    ::waitpid(id_, &state, WUNTRACED);
    take(state);
    return status_ < 0;
}

void child::go_on() const {
    ::kill(id_, SIGCONT);
}

bool child::kill() {
    if (status_ >= 0) return false;
    ::kill(id_, SIGKILL);
    return wait() == 128 + SIGKILL;
}

int child::wait() {
    if (status_ >= 0) return status_;
    int state = 0;
    ::waitpid(id_, &state, 0);
    take(state);
    return status_;
}

void child::take(int state) {
    if (WIFEXITED(state)) status_ = WEXITSTATUS(state);
    if (WIFSIGNALED(state)) status_ = 128 + WTERMSIG(state);
}

}  // namespace rldp::testing
