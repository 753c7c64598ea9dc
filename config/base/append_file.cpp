#include "config/base/append_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "config/base/file_kind.hpp"
#include "config/base/fixed_time.hpp"
#include "config/base/write_all.hpp"

namespace rldp {

namespace {

/// Tries for a second: what a process that was just killed had begun to start (gnuplot, for a figure) shares its locks
/// until it has become another program.
bool lock(int descriptor) {
    using namespace std::chrono_literals;
    const auto until = std::chrono::steady_clock::now() + 1s;
    while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

}  // namespace

append_file::append_file(const std::filesystem::path& path) : path_(path) {
    constexpr int how = O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    descriptor_ = ::open(path.c_str(), how);
    const bool fresh = descriptor_ < 0 && errno == ENOENT;
    if (fresh) descriptor_ = ::open(path.c_str(), how | O_CREAT, mode_of_new(path, 0644));
    if (descriptor_ < 0) storage_fault(path, "can't be opened", errno);
    try {
        struct stat found {};
        if (::fstat(descriptor_, &found) != 0) storage_fault(path, "can't be opened", errno);
        if (!S_ISREG(found.st_mode)) refuse_kind(path, found.st_mode);
        if (!lock(descriptor_)) refuse(path.string() + ": another process is writing it; wait for that run to end");
        // Only under the lock is the length nobody else's to change.
        if (::fstat(descriptor_, &found) != 0) storage_fault(path, "can't be opened", errno);
        size_ = static_cast<std::uintmax_t>(found.st_size);
        if (fresh) {
            fixed_time::apply(path);
            sync_directory(path);
        }
    } catch (...) {
        ::close(std::exchange(descriptor_, -1));
        throw;
    }
}

append_file::~append_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

append_file::append_file(append_file&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

append_file& append_file::operator=(append_file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_, other.size_);
    return *this;
}

void append_file::append(std::string_view bytes) {
    const auto before = size_;
    append_unsynced(bytes);
    if (::fdatasync(descriptor_) != 0) take_back(before);
}

void append_file::append_unsynced(std::string_view bytes) {
    if (!write_all(descriptor_, bytes)) take_back(size_);
    size_ += bytes.size();
    fixed_time::apply(path_);
}

void append_file::sync() {
    if (::fdatasync(descriptor_) != 0) storage_fault(path_, "can't be written", errno);
}

void append_file::take_back(std::uintmax_t size) {
    const int reason = errno;
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) == 0) ::fdatasync(descriptor_);
    size_ = size;
    storage_fault(path_, "can't be appended to", reason);
}

void append_file::truncate(std::uintmax_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0 || ::fsync(descriptor_) != 0)
        storage_fault(path_, "can't be cut", errno);
    size_ = size;
    fixed_time::apply(path_);
}

bool is_being_written(const std::filesystem::path& file) {
    // A FIFO would block, a link lead elsewhere.
    const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0) return false;
    const bool held = ::flock(opened, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(opened);  // and with it the lock, if it was free
    return held;
}

}  // namespace rldp
