#include "tests/faults/shim/journal.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace rldp::testing::shim {

namespace {

/// Limits on the length of files and on descriptors are the run's, not this library's.
class beyond_limit {
  public:
    explicit beyond_limit(__rlimit_resource which) : which_(which) {
        ::getrlimit(which_, &limit_);
        set(limit_.rlim_max);
    }
    ~beyond_limit() { set(limit_.rlim_cur); }
    beyond_limit(const beyond_limit&) = delete;
    beyond_limit& operator=(const beyond_limit&) = delete;

  private:
    void set(rlim_t now) const {
        const rlimit lifted{now, limit_.rlim_max};
        if (limit_.rlim_cur != limit_.rlim_max) ::setrlimit(which_, &lifted);
    }

    __rlimit_resource which_;
    rlimit limit_{};
};

/// System calls as such: what this library does itself is neither recorded nor hurt.
int journal() {
    static const int file = [] {
        const char* path = std::getenv("RLDP_FAULT_JOURNAL");
        if (!path) return -1;
        const beyond_limit freely(RLIMIT_NOFILE);
        const auto opened = ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (opened < 0) ::abort();
        return static_cast<int>(opened);
    }();
    return file;
}

}  // namespace

bool recording() {
    return journal() >= 0;
}

std::unique_lock<std::mutex> in_order() {
    static std::mutex mutex;
    return recording() ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
}

void record(const char* event, long long number, const std::string& path, const void* bytes, std::size_t length) {
    if (!recording()) return;
    std::string line(event);
    for (const auto& field : {std::to_string(number), std::to_string(length), path}) line.append(1, ' ').append(field);
    line.push_back('\n');
    iovec parts[2] = {{line.data(), line.size()}, {const_cast<void*>(bytes), length}};
    const auto whole = static_cast<long>(line.size() + length);
    const beyond_limit freely(RLIMIT_FSIZE);
    // A journal that lost a record would acquit: better no run at all.
    if (::syscall(SYS_writev, journal(), parts, 2) != whole) ::abort();
}

}  // namespace rldp::testing::shim
