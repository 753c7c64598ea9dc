#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/descriptor.hpp"
#include "base/directories.hpp"
#include "base/files.hpp"

namespace rldp {

namespace {

/// Another path, other rights to it, or more room would help.
bool can_be_mended(int reason) {
    switch (reason) {
        case EACCES:
        case EPERM:
        case EROFS:
        case ENOENT:
        case ENOTDIR:
        case EISDIR:
        case EEXIST:
        case ENOTEMPTY:
        case ENAMETOOLONG:
        case ELOOP:
        case EXDEV:
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return true;
        default:
            return false;
    }
}

/// Removes the temporary file and says what became of `path`.
[[noreturn]] void give_up(const std::filesystem::path& temporary, const std::filesystem::path& path, const char* what) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    storage_fault(path, what, reason);
}

std::filesystem::path find_directory(const std::filesystem::path& entry) {
    return entry.has_parent_path() ? entry.parent_path() : std::filesystem::path(".");
}

bool names_directory(const std::filesystem::path& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

}  // namespace

errc classify_errno(int reason) {
    return can_be_mended(reason) ? errc::bad_input : errc::failed;
}

void storage_fault(const std::filesystem::path& path, const std::string& what, int reason) {
    throw storage_error(classify_errno(reason), path.string() + ": " + what + ": " + std::strerror(reason));
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto n = ::write(descriptor, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

void write_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
    write_in_parts(
        path, [&](const part_writer& write) { write(bytes); }, mode);
}

unsigned mode_of_new(const std::filesystem::path& file, unsigned mode) {
    struct stat found {};
    const bool is_private = ::stat(find_directory(file).c_str(), &found) == 0 && (found.st_mode & 077) == 0;
    return is_private ? mode & 0700 : mode;
}

void write_in_parts(const std::filesystem::path& path, const std::function<void(const part_writer&)>& fill,
                    unsigned mode) {
    auto temporary = path;
    temporary += ".tmp";
    {
        ::unlink(temporary.c_str());
        // Created with its final mode: a private file is at no time open to others.
        const descriptor file(
            ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_of_new(path, mode)));
        if (!file) storage_fault(path, "can't be created", errno);
        const auto write = [&](std::string_view part) {
            if (!write_all(file.get(), part)) give_up(temporary, path, "can't be written");
        };
        try {
            fill(write);
        } catch (...) {
            ::unlink(temporary.c_str());
            throw;
        }
        if (::fsync(file.get()) != 0) give_up(temporary, path, "can't be written");
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) give_up(temporary, path, "can't be replaced");
    fixed_time::apply(path);
    sync_directory(path);
}

void write_pair(const std::filesystem::path& first, std::string_view first_bytes, unsigned first_mode,
                const std::filesystem::path& second, std::string_view second_bytes) {
    write_file(first, first_bytes, first_mode);
    try {
        write_file(second, second_bytes);
    } catch (...) {
        remove_file(first);
        throw;
    }
}

void refuse_existing_pair(const std::filesystem::path& first, const std::filesystem::path& second,
                          const std::string& why) {
    const auto there = [](const auto& file) { return std::filesystem::exists(std::filesystem::symlink_status(file)); };
    if (!there(first) && !there(second)) return;
    const auto& found = there(first) ? first : second;
    if (there(first) && there(second)) refuse(found.string() + ": exists already; " + why);
    refuse(found.string() + ": exists already, without " + (there(first) ? second : first).string() +
           ": half of a pair that was cut, or another's; remove it, or choose another name");
}

void sync_directory(const std::filesystem::path& entry) {
    const auto parent = find_directory(entry);
    const descriptor directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) storage_fault(parent, "can't be opened to make a name in it durable", errno);
    // EINVAL: a file system that knows no such thing, whose names are as durable as it makes them.
    if (::fsync(directory.get()) != 0 && errno != EINVAL)
        storage_fault(parent, "a name in it can't be made durable", errno);
}

void make_directory(const std::filesystem::path& path) {
    const auto plain = path.has_filename() ? path : path.parent_path();  // "out/"
    if (plain.empty() || names_directory(plain)) return;
    make_directory(find_directory(plain));
    // Another process may have been faster.
    if (::mkdir(plain.c_str(), 0777) != 0 && !(errno == EEXIST && names_directory(plain)))
        storage_fault(plain, "can't be created", errno);
    fixed_time::apply(plain);
    sync_directory(plain);
}

void create_private_directory(const std::filesystem::path& path) {
    make_directory(path);
    if (::chmod(path.c_str(), 0700) != 0) storage_fault(path, "can't be made private", errno);
}

void put_in_place(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) storage_fault(to, "can't be put in place", errno);
    fixed_time::apply(to);
    sync_directory(to);
}

void remove_file(const std::filesystem::path& path) {
    if (::unlink(path.c_str()) == 0) {
        fixed_time::apply(find_directory(path));
        return sync_directory(path);
    }
    if (errno != ENOENT) storage_fault(path, "can't be removed", errno);
}

std::string read_file(const std::filesystem::path& path) {
    input_file file(path);
    std::string out;
    // One byte more than the size: the common read then sees the end, too. /proc's files say that they are empty.
    for (std::size_t room = file.size() + 1;; room = std::max<std::size_t>(out.size(), 4096)) {
        const auto before = out.size();
        out.resize(before + room);
        const auto got = file.read(out.data() + before, room);
        out.resize(before + got);
        if (got < room) return out;
    }
}

std::string read_text(const std::filesystem::path& path) {
    auto text = read_file(path);
    if (const auto at = text.find('\0'); at != std::string::npos)
        refuse(path.string() + ": byte " + std::to_string(at + 1) +
               " is zero, which no text holds; the file is damaged");
    return text;
}

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

namespace {

bool lock(int descriptor, std::chrono::seconds patience) {
    using namespace std::chrono_literals;
    const auto until = std::chrono::steady_clock::now() + patience;
    while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

}  // namespace

append_file::append_file(const std::filesystem::path& path, std::chrono::seconds patience) : path_(path) {
    constexpr int how = O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    descriptor_ = ::open(path.c_str(), how);
    const bool fresh = descriptor_ < 0 && errno == ENOENT;
    if (fresh) descriptor_ = ::open(path.c_str(), how | O_CREAT, mode_of_new(path, 0644));
    if (descriptor_ < 0) storage_fault(path, "can't be opened", errno);
    try {
        struct stat found {};
        if (::fstat(descriptor_, &found) != 0) storage_fault(path, "can't be opened", errno);
        if (!S_ISREG(found.st_mode)) refuse_kind(path, found.st_mode);
        if (!lock(descriptor_, patience))
            refuse(path.string() + ": another process is writing it; wait for that run to end");
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
