#include "tests/faults/shim/paths.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace rldp::testing::shim {

std::string find_path(int descriptor) {
    char name[PATH_MAX];
    const auto link = "/proc/self/fd/" + std::to_string(descriptor);
    const int kept = errno;
    const auto length = ::readlink(link.c_str(), name, sizeof name);
    errno = kept;
    return length < 0 ? std::string() : std::string(name, static_cast<std::size_t>(length));
}

std::string absolute(int directory, const char* path) {
    if (path[0] == '/') return path;
    char here[PATH_MAX];
    const auto base =
        directory == AT_FDCWD ? std::string(::getcwd(here, sizeof here) ? here : "") : find_path(directory);
    return base + "/" + path;
}

bool exists(const std::string& path) {
    return ::syscall(SYS_faccessat, AT_FDCWD, path.c_str(), F_OK) == 0;
}

}  // namespace rldp::testing::shim
