// Processes that are not to outlive the one that started them.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/system.hpp"
#include "tests/catch.hpp"

using namespace rldp;

namespace {

/// How a grandchild ends whose parent is gone before it asks to end with it, or after; as waitpid tells it.
int end_of_orphan(bool gone_before) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans come to this process, which can wait for them
    std::array<int, 2> parent_may_go{}, orphaned{}, asked{}, who{};
    for (auto* ends : {&parent_may_go, &orphaned, &asked, &who}) REQUIRE(::pipe(ends->data()) == 0);
    const auto tell = [](const std::array<int, 2>& pipe) { return ::write(pipe[1], "x", 1) == 1; };
    const auto hear = [](const std::array<int, 2>& pipe) {
        char byte = 0;
        return ::read(pipe[0], &byte, 1) == 1;
    };
    const pid_t parent = ::fork();
    if (parent == 0) {
        const pid_t own = ::getpid(), child = ::fork();
        if (child == 0) {
            ::signal(SIGTERM, SIG_DFL);  // Catch2 has its own
            if (gone_before) hear(orphaned);
            end_with_parent(own);
            tell(asked);
            for (;;) ::pause();
        }
        if (::write(who[1], &child, sizeof child) == sizeof child) hear(parent_may_go);
        ::_exit(0);
    }
    pid_t child = 0;
    REQUIRE(::read(who[0], &child, sizeof child) == sizeof child);
    if (!gone_before) REQUIRE(hear(asked));
    REQUIRE(tell(parent_may_go));
    REQUIRE(::waitpid(parent, nullptr, 0) == parent);
    REQUIRE(tell(orphaned));
    ::close(asked[1]);
    if (gone_before && hear(asked)) ::kill(child, SIGKILL);  // it goes on, and says so
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    for (auto* ends : {&parent_may_go, &orphaned, &who})
        for (const int end : *ends) ::close(end);
    ::close(asked[0]);
    return status;
}

}  // namespace

TEST_CASE("a process ends with its parent, also where that is gone before it asks to") {
    for (const bool gone_before : {false, true}) {
        const int status = end_of_orphan(gone_before);
        CHECK(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == SIGTERM);
    }
}
