#pragma once
// Files that are whole or absent: write, fsync, rename, fsync of the directory. Every failure is an rldp::error of one
// line with the path and the system's reason: bad_input where another path, other rights or more room would help (a
// missing parent, a directory in the way, a read-only file system, a full disk), failed where the storage itself gives
// up (EIO).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "config/base/error.hpp"

namespace rldp {

/// What went wrong with a file, not with what it holds: path and reason name no record, so they may be shown to anyone.
class storage_error : public error {
  public:
    using error::error;
};

/// bad_input where another path, other rights or more room would mend `reason`, an errno, else failed.
errc classify_errno(int reason);

/// Throws "PATH: WHAT: REASON" with the status that `reason`, an errno, deserves.
[[noreturn]] void storage_fault(const std::filesystem::path& path, const std::string& what, int reason);

/// What remains of `mode` for a new file: in a directory that only its owner can enter, it is only its owner's, too.
unsigned mode_of_new(const std::filesystem::path& file, unsigned mode);

/// The whole file. Errors: see input_file.
std::string read_file(const std::filesystem::path& path);

/// The same of text. Errors: bad_input for a zero byte, too, where readers of text and JSON would take the end to be.
std::string read_text(const std::filesystem::path& path);

/// Replaces `path` by `bytes`: a temporary file beside it is written, fsynced and renamed, then the directory is
/// fsynced. `mode` as for open(2), as far as mode_of_new() leaves it. Where it fails, nothing is left behind.
void write_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

/// The same of bytes that come in parts, for files too large to be put together in memory first: `fill` is called once,
/// with what writes the next. Where it throws, nothing is left behind.
using part_writer = std::function<void(std::string_view part)>;
void write_in_parts(const std::filesystem::path& path, const std::function<void(const part_writer&)>& fill,
                    unsigned mode = 0644);

/// Two files that are nothing without each other: where the second can't be written, the first goes, too.
void write_pair(const std::filesystem::path& first, std::string_view first_bytes, unsigned first_mode,
                const std::filesystem::path& second, std::string_view second_bytes);

/// Errors: bad_input where one of the two is there already, saying so where it is half a pair.
void refuse_existing_pair(const std::filesystem::path& first, const std::filesystem::path& second,
                          const std::string& why);

/// Makes the name of `entry` in its directory durable.
void sync_directory(const std::filesystem::path& entry);

/// Makes the directory and what is missing above it, their names durable. One that exists is left as it is.
void make_directory(const std::filesystem::path& path);

/// A directory that only its owner can enter (mode 0700), so that files in it are its owner's alone, too. Existing
/// ones are set to 0700.
void create_private_directory(const std::filesystem::path& path);

/// rename(2), with the new name durable; `from` and `to` lie in the same directory.
void put_in_place(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a file, durably. One that is missing is fine.
void remove_file(const std::filesystem::path& path);

}  // namespace rldp
