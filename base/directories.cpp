#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <system_error>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"

namespace rldp {

namespace {

namespace fs = std::filesystem;

/// Files are written by actors that know nothing of each other, so the directories stand in one place.
struct registry {
    std::mutex mutex;
    std::map<fs::path, std::int64_t> times;
};

registry& directories() {
    static registry all;
    return all;
}

fs::path plain(const fs::path& path) {
    return fs::absolute(path).lexically_normal();
}

void set_time(const fs::path& path, std::int64_t time) {
    const timespec then{.tv_sec = static_cast<time_t>(time), .tv_nsec = 0};
    const std::array both{then, then};
    ::utimensat(AT_FDCWD, path.c_str(), both.data(), AT_SYMLINK_NOFOLLOW);
}

bool is_below(const fs::path& path, const fs::path& directory) {
    return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first == directory.end();
}

}  // namespace

fixed_time::fixed_time(const fs::path& directory, std::int64_t time) : directory_(plain(directory)), time_(time) {
    {
        auto& all = directories();
        const std::lock_guard lock(all.mutex);
        all.times[directory_] = time;
    }
    apply_to_all(directory_, time_);
}

fixed_time::~fixed_time() {
    apply_to_all(directory_, time_);
    auto& all = directories();
    const std::lock_guard lock(all.mutex);
    all.times.erase(directory_);
}

void fixed_time::apply(const fs::path& written) {
    std::optional<std::pair<fs::path, std::int64_t>> found;
    fs::path path;
    {
        auto& all = directories();
        const std::lock_guard lock(all.mutex);
        if (all.times.empty()) return;
        path = plain(written);
        for (const auto& one : all.times)
            if (is_below(path, one.first)) found = one;
    }
    if (!found) return;
    // A name that came or went changes its directory's time.
    for (; is_below(path, found->first); path = path.parent_path()) set_time(path, found->second);
}

void fixed_time::apply_to_all(const fs::path& directory, std::int64_t time) {
    std::error_code gone;
    for (fs::recursive_directory_iterator at(directory, gone), end; !gone && at != end; at.increment(gone))
        set_time(at->path(), time);
    set_time(directory, time);
}

namespace {

template <class Iterator>
std::vector<std::filesystem::directory_entry> all(const std::filesystem::path& directory) {
    std::vector<std::filesystem::directory_entry> out;
    std::error_code reason;
    for (Iterator at(directory, reason); !reason && at != Iterator(); at.increment(reason)) out.push_back(*at);
    if (reason) storage_fault(directory, "can't be listed", reason.value());
    return out;
}

}  // namespace

std::vector<std::filesystem::directory_entry> list_entries(const std::filesystem::path& directory) {
    return all<std::filesystem::directory_iterator>(directory);
}

std::vector<std::filesystem::directory_entry> entries_below(const std::filesystem::path& directory) {
    return all<std::filesystem::recursive_directory_iterator>(directory);
}

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

fs::path find_parent(const fs::path& target) {
    return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

fs::path without_slash(const fs::path& target) {
    return target.has_filename() ? target : target.parent_path();
}

}  // namespace

staged_directory::staged_directory(const fs::path& target) : target_(without_slash(target)) {
    make_directory(find_parent(target_));
    remove_abandoned_of(target_);
    while (!lock_) {  // again where the name was taken, or somebody who cleans up was faster than the lock
        partial_ = target_.string() + std::string(mark) + some_letters();
        if (::mkdir(partial_.c_str(), 0777) != 0) {
            if (errno == EEXIST) continue;
            storage_fault(target, "can't be created", errno);
        }
        try {
            lock_ = directory_lock::take(partial_, directory_lock::kind::exclusive);
        } catch (...) {  // no descriptor left, for example
            ::rmdir(partial_.c_str());
            throw;
        }
    }
}

staged_directory::~staged_directory() {
    std::error_code ignored;
    if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

void staged_directory::settle() {
    // Files made their names durable in their own directories; the directories' names are these.
    for (const auto& entry : entries_below(partial_))
        if (entry.is_directory()) sync_directory(entry.path());
    put_in_place(partial_, target_);
    partial_.clear();
}

fs::path staged_directory::shared_name(const fs::path& target, std::string_view letters) {
    return without_slash(target).string() + std::string(mark) + std::string(letters);
}

bool staged_directory::is_one(const fs::path& path) {
    const auto name = path.filename().string();
    const auto at = name.rfind(mark);
    return at != std::string::npos && at > 0 && name.size() == at + mark.size() + random_letters &&
           std::all_of(name.end() - random_letters, name.end(),
                       [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

bool staged_directory::remove_abandoned(const fs::path& path) {
    const auto abandoned = directory_lock::take(path, directory_lock::kind::exclusive);
    if (!abandoned) return false;
    std::error_code reason;
    fs::remove_all(path, reason);
    if (reason) storage_fault(path, "was left by a killed process and can't be removed", reason.value());
    return true;
}

std::vector<fs::path> staged_directory::remove_abandoned_of(const fs::path& place) {
    const auto target = without_slash(place);
    std::vector<fs::path> out;
    const auto name = target.filename().string() + std::string(mark);
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(find_parent(target), unreadable))
        if (is_one(entry.path()) && entry.path().filename().string().starts_with(name) &&
            remove_abandoned(entry.path()))
            out.push_back(entry.path());
    return out;
}

}  // namespace rldp
