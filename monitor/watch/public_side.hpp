#pragma once
// Only for sources. The public files of a run, opened one by one by name: the only ones that what watches runs ever
// opens.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rldp::monitor {

enum class public_file { config, ledger, metrics, summary, certificate, report_page, certificate_page };

/// What tells one content from another. Public files carry one date, so the time is the kernel's own (ctime), and for
/// comparing alone: it is shown to nobody.
struct file_state {
    std::uintmax_t size = 0;
    std::uint64_t inode = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const file_state&) const = default;
};

/// Nothing where it is no regular file (a link to another place is none).
std::optional<file_state> state_of_public(const std::filesystem::path& file);
/// At most `most` bytes from `from` on; nothing where it can't be read.
std::optional<std::string> read_public(const std::filesystem::path& file, std::uintmax_t from, std::size_t most);

class public_side {
  public:
    explicit public_side(const std::filesystem::path& run) : root_(run / "public") {}

    std::filesystem::path find_path(public_file which) const;
    std::optional<file_state> read_state(public_file which) const { return state_of_public(find_path(which)); }
    std::optional<std::string> read(public_file which, std::uintmax_t from, std::size_t most) const {
        return read_public(find_path(which), from, most);
    }

  private:
    std::filesystem::path root_;
};

}  // namespace rldp::monitor
