#include "config/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "config/error.hpp"

namespace rldp {

namespace {

/// What the user can mend (room, rights) is bad input; the rest is a failure.
[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what, int reason = errno) {
    const bool mendable = reason == ENOSPC || reason == EDQUOT || reason == EACCES || reason == EROFS;
    throw storage_error(mendable ? errc::bad_input : errc::failed,
                        path.string() + ": " + what + ": " + std::strerror(reason));
}

/// A file descriptor that is closed on every path.
class descriptor {
  public:
    explicit descriptor(int value) : value_(value) {}
    ~descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int get() const { return value_; }

  private:
    int value_;
};

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) refuse(path.string() + ": no such file");
    if (std::filesystem::is_directory(path, ignored)) refuse(path.string() + ": is a directory, a file is needed");
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse(path.string() + ": can't be read: " + std::strerror(errno));
    std::ostringstream out;
    out << in.rdbuf();
    if (in.bad()) refuse(path.string() + ": can't be read to its end");
    return std::move(out).str();
}

void write_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
    auto temporary = path;
    temporary += ".tmp";
    {
        ::unlink(temporary.c_str());
        // Created with its final mode: a private file is at no time open to others.
        const descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (file.get() < 0) fail(path, "can't be created");
        if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0) {
            const int reason = errno;
            ::unlink(temporary.c_str());
            errno = reason;
            fail(path, "can't be written");
        }
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        const int reason = errno;
        ::unlink(temporary.c_str());
        errno = reason;
        fail(path, "can't be replaced");
    }
    sync_directory(path);
}

void sync_directory(const std::filesystem::path& entry) {
    const auto parent = entry.has_parent_path() ? entry.parent_path() : std::filesystem::path(".");
    const descriptor directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0) ::fsync(directory.get());
}

void create_private_directory(const std::filesystem::path& path) {
    std::error_code reason;
    std::filesystem::create_directories(path, reason);
    if (reason) fail(path, "can't be created", reason.value());
    if (::chmod(path.c_str(), 0700) != 0) fail(path, "can't be made private");
}

append_file::append_file(const std::filesystem::path& path) : path_(path) {
    std::error_code ignored;
    const bool is_new = !std::filesystem::exists(path, ignored);
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail(path, "can't be opened");
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        ::close(std::exchange(descriptor_, -1));
        refuse(path.string() + ": another process is writing it; wait for that run to end");
    }
    size_ = std::filesystem::file_size(path);
    if (is_new) sync_directory(path);  // or a power cut would take its name away
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
}

void append_file::sync() {
    if (::fdatasync(descriptor_) != 0) fail(path_, "can't be written");
}

void append_file::take_back(std::uintmax_t size) {
    const int reason = errno;
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) == 0) ::fdatasync(descriptor_);
    size_ = size;
    fail(path_, "can't be appended to", reason);
}

void append_file::truncate(std::uintmax_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0 || ::fsync(descriptor_) != 0)
        fail(path_, "can't be cut");
    size_ = size;
}

}  // namespace rldp
