#include "config/base/nascent_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <random>
#include <string>

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
