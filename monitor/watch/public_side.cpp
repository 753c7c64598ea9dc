#include "monitor/watch/public_side.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace rldp::monitor {

namespace {

const char* name_of(public_file which) {
    switch (which) {
        case public_file::config:
            return "config.json";
        case public_file::ledger:
            return "ledger.jsonl";
        case public_file::metrics:
            return "metrics.jsonl";
        case public_file::summary:
            return "summary.json";
        case public_file::certificate:
            return "certificate.json";
        case public_file::report_page:
            return "report.html";
        case public_file::certificate_page:
            return "certificate.html";
    }
    return "";
}

file_state state_from(const struct stat& found) {
    return {static_cast<std::uintmax_t>(found.st_size), found.st_ino, found.st_ctim.tv_sec, found.st_ctim.tv_nsec};
}

}  // namespace

std::filesystem::path public_side::find_path(public_file which) const {
    return root_ / name_of(which);
}

std::optional<file_state> state_of_public(const std::filesystem::path& file) {
    struct stat found {};
    if (::lstat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
    return state_from(found);
}

std::optional<std::string> read_public(const std::filesystem::path& file, std::uintmax_t from, std::size_t most) {
    // A FIFO would block, a link could lead to the trusted side.
    const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (opened < 0) return std::nullopt;
    const std::shared_ptr<void> closing(nullptr, [opened](void*) { ::close(opened); });
    struct stat found {};
    if (::fstat(opened, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
    const auto size = static_cast<std::uintmax_t>(found.st_size);
    if (from >= size) return std::string();
    std::string out(static_cast<std::size_t>(std::min<std::uintmax_t>(size - from, most)), '\0');
    std::size_t done = 0;
    while (done < out.size()) {
        const auto got = ::pread(opened, out.data() + done, out.size() - done, static_cast<off_t>(from + done));
        if (got < 0) return std::nullopt;
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    out.resize(done);
    return out;
}

}  // namespace rldp::monitor
