#include "config/base/nascent_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

#include "config/base/directory.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"

namespace rldp {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = ".partial-";
constexpr std::size_t random_letters = 6;

std::string some_letters() {
    std::random_device source;
    std::string out;
    while (out.size() < random_letters) out += static_cast<char>('a' + source() % 26);
    return out;
}

int open_directory(const fs::path& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Whether `path` is still the directory that `descriptor` is open on.
bool still_there(const fs::path& path, int descriptor) {
    struct stat by_path {
    }, by_descriptor{};
    return ::stat(path.c_str(), &by_path) == 0 && ::fstat(descriptor, &by_descriptor) == 0 &&
           by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev;
}

fs::path parent_of(const fs::path& target) {
    return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

fs::path without_slash(const fs::path& target) {
    return target.has_filename() ? target : target.parent_path();
}

}  // namespace

nascent_directory::nascent_directory(const fs::path& target) : target_(without_slash(target)) {
    make_directory(parent_of(target_));
    remove_abandoned_of(target_);
    do {  // again where somebody who cleans up was faster than the lock
        if (lock_ >= 0) ::close(std::exchange(lock_, -1));
        partial_ = target_.string() + std::string(mark) + some_letters();
        if (::mkdir(partial_.c_str(), 0777) != 0) {
            if (errno == EEXIST) continue;
            storage_fault(target, "can't be created", errno);
        }
        lock_ = open_directory(partial_);
        if (lock_ < 0 && errno != ENOENT) {  // no descriptor left, for example
            const int reason = errno;
            ::rmdir(partial_.c_str());
            storage_fault(target, "can't be created", reason);
        }
    } while (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0 || !still_there(partial_, lock_));
}

nascent_directory::~nascent_directory() {
    std::error_code ignored;
    if (!partial_.empty()) fs::remove_all(partial_, ignored);
    ::close(lock_);
}

void nascent_directory::settle() {
    // Files made their names durable in their own directories; the directories' names are these.
    for (const auto& entry : entries_below(partial_))
        if (entry.is_directory()) sync_directory(entry.path());
    put_in_place(partial_, target_);
    partial_.clear();
}

bool nascent_directory::is_one(const fs::path& path) {
    const auto name = path.filename().string();
    const auto at = name.rfind(mark);
    return at != std::string::npos && at > 0 && name.size() == at + mark.size() + random_letters &&
           std::all_of(name.end() - random_letters, name.end(),
                       [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

bool nascent_directory::remove_abandoned(const fs::path& path) {
    const int descriptor = open_directory(path);
    if (descriptor < 0) return false;
    const bool abandoned = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    std::error_code reason;
    if (abandoned) fs::remove_all(path, reason);
    ::close(descriptor);
    if (reason) storage_fault(path, "was left by a killed process and can't be removed", reason.value());
    return abandoned;
}

std::vector<fs::path> nascent_directory::remove_abandoned_of(const fs::path& place) {
    const auto target = without_slash(place);
    std::vector<fs::path> out;
    const auto name = target.filename().string() + std::string(mark);
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(parent_of(target), unreadable))
        if (is_one(entry.path()) && entry.path().filename().string().starts_with(name) &&
            remove_abandoned(entry.path()))
            out.push_back(entry.path());
    return out;
}

}  // namespace rldp
