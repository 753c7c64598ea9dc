#include "config/base/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "config/base/file_kind.hpp"

namespace rldp {

namespace {

[[noreturn]] void fail_to_open(const std::filesystem::path& path, int reason) {
    struct stat found {};
    if (reason == ENOENT) throw storage_error(errc::bad_input, path.string() + ": no such file");
    // A socket can't be opened at all, a device without a driver neither.
    if (reason == ENXIO && ::stat(path.c_str(), &found) == 0) refuse_kind(path, found.st_mode);
    storage_fault(path, "can't be read", reason);
}

// Where Git LFS is not installed, a checkout leaves such a text in the place of each large file.
bool is_lfs_pointer(int descriptor, std::uintmax_t size) {
    constexpr std::string_view begins = "version https://git-lfs.github.com/spec/";
    constexpr std::uintmax_t longest = 1024;  // bytes, as its specification says
    if (size < begins.size() || size >= longest) return false;
    std::array<char, begins.size()> found{};
    return ::pread(descriptor, found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()) &&
           std::equal(begins.begin(), begins.end(), found.begin());
}

}  // namespace

void refuse_kind(const std::filesystem::path& path, unsigned mode) {
    const auto kind = S_ISDIR(mode)    ? "a directory"
                      : S_ISFIFO(mode) ? "a FIFO"
                      : S_ISSOCK(mode) ? "a socket"
                                       : "a device";
    const auto remedy = S_ISDIR(mode) ? "name a file" : "put what it gives into a file, and name that";
    throw storage_error(errc::bad_input, path.string() + ": is " + kind + ", not a regular file; " + remedy);
}

input_file::input_file(const std::filesystem::path& path) : path_(path) {
    // O_NONBLOCK: a FIFO without a writer opens at once. Regular files know no such mode.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor_ < 0) fail_to_open(path, errno);
    struct stat found {};
    const int reason = ::fstat(descriptor_, &found) == 0 ? 0 : errno;
    if (reason == 0 && S_ISREG(found.st_mode)) {
        size_ = static_cast<std::uintmax_t>(found.st_size);
        mode_ = found.st_mode & 07777u;
        if (!is_lfs_pointer(descriptor_, size_)) return;
    }
    ::close(descriptor_);
    if (size_ > 0)
        throw storage_error(errc::bad_input, path.string() +
                                                 ": is a Git LFS pointer, not the file itself; call git lfs pull where "
                                                 "it was cloned, or download it anew");
    if (reason != 0) storage_fault(path, "can't be read", reason);
    refuse_kind(path, found.st_mode);
}

input_file::~input_file() {
    ::close(descriptor_);
}

std::size_t input_file::read(char* into, std::size_t room) {
    std::size_t have = 0;
    while (have < room) {
        const auto n = ::read(descriptor_, into + have, room - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) storage_fault(path_, "can't be read to its end", errno);
        if (n == 0) break;
        have += static_cast<std::size_t>(n);
    }
    return have;
}

void input_file::seek(std::uintmax_t at) {
    if (::lseek(descriptor_, static_cast<off_t>(at), SEEK_SET) < 0) storage_fault(path_, "can't be read", errno);
}

}  // namespace rldp
