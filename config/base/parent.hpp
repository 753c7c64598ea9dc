#pragma once
// A process that must not outlive the one that started it.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace rldp {

/// From now on SIGTERM comes when `parent` is gone. One that was gone before is told by nobody, so that is asked. Safe
/// between fork and exec.
inline void end_with_parent(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::raise(SIGTERM);
}

}  // namespace rldp
