#include "config/base/fixed_time.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

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

}  // namespace rldp
