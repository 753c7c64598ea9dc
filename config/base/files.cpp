#include "config/base/files.hpp"
#include "config/base/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "config/base/descriptor.hpp"
#include "config/base/fixed_time.hpp"
#include "config/base/write_all.hpp"

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

}  // namespace rldp
