#pragma once
// Files that are written whole, files that are read, files that only grow. Every failure is an rldp::error of one line
// with the path and the system's reason: bad_input where another path, other rights or more room would help (a missing
// parent, a directory in the way, a read-only file system, a full disk), failed where the storage itself gives up
// (EIO).
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"

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

// Whole files. They are whole or absent: write, fsync, rename, fsync of the directory.

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

// Reading. Files that a user names, opened for reading: the one place where that happens.

/// A regular file that is open for reading. Nothing else that has a path is read: a FIFO or a terminal would block, a
/// device might never end.
class input_file {
  public:
    /// Errors: bad_input where the file does not exist, can't be opened, is no regular file (said by its kind), or only
    /// Git LFS's pointer to one.
    explicit input_file(const std::filesystem::path& path);
    ~input_file();
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;

    /// How many bytes came, at most `room`; fewer only at the end of the file.
    std::size_t read(char* into, std::size_t room);
    /// Goes to byte `at`, from 0.
    void seek(std::uintmax_t at);
    std::uintmax_t size() const { return size_; }   ///< bytes, when it was opened
    unsigned permissions() const { return mode_; }  ///< as chmod(2) counts them
    int descriptor() const { return descriptor_; }  ///< for mmap(2); stays this object's own
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uintmax_t size_ = 0;
    unsigned mode_ = 0;
};

// Appending. Files that only grow: ledgers and logs.

/// A file that only grows, each append durable before it returns (fsync). Holds an exclusive lock: one writer.
class append_file {
  public:
    /// A process that was just killed may have begun to start another program (gnuplot, for a figure), which shares its
    /// locks until it has become that.
    static constexpr std::chrono::seconds for_the_dead{1};
    /// Opens or creates; a new one's name is durable. Errors: bad_input if another process holds the lock for longer
    /// than `patience`, and for what is no regular file.
    explicit append_file(const std::filesystem::path& path, std::chrono::seconds patience = for_the_dead);
    ~append_file();
    append_file(append_file&&) noexcept;
    append_file& operator=(append_file&&) noexcept;

    /// Appends all of `bytes` and fsyncs. Errors: on a short write the file is cut back to its former length.
    void append(std::string_view bytes);
    /// Appends all of `bytes`: others see them at once, a power cut may lose them until sync(). Errors: as append.
    void append_unsynced(std::string_view bytes);
    void sync();
    /// Cuts the file back to `size` bytes and fsyncs.
    void truncate(std::uintmax_t size);
    std::uintmax_t size() const { return size_; }

  private:
    /// Cuts off what failed to become durable. Errors: always, by errno.
    [[noreturn]] void take_back(std::uintmax_t size);

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uintmax_t size_ = 0;
};

/// Whether another process of this machine has it open to append. False for what is no file that can be read.
bool is_being_written(const std::filesystem::path& file);

}  // namespace rldp
