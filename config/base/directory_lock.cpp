#include "config/base/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "config/base/files.hpp"

namespace rldp {

namespace {

/// Whether `path` is still the directory that `descriptor` is open on.
bool still_there(const std::filesystem::path& path, int descriptor) {
    struct stat by_path {
    }, by_descriptor{};
    return ::stat(path.c_str(), &by_path) == 0 && ::fstat(descriptor, &by_descriptor) == 0 &&
           by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev;
}

}  // namespace

std::optional<directory_lock> directory_lock::take(const std::filesystem::path& path, kind how) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return {};
        storage_fault(path, "can't be opened", errno);
    }
    directory_lock out(descriptor);
    const int way = how == kind::shared ? LOCK_SH : LOCK_EX;
    if (::flock(descriptor, way | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return {};
        storage_fault(path, "can't be locked", errno);
    }
    if (!still_there(path, descriptor)) return {};
    return out;
}

directory_lock::~directory_lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace rldp
