#pragma once
// Files that are whole or absent: write, fsync, rename. Every failure is an rldp::error that names the path: bad_input
// where the user can mend it (a full disk, missing rights), else failed.
#include <filesystem>
#include <string>
#include <string_view>

#include "config/error.hpp"

namespace rldp {

/// What went wrong with a file, not with what it holds: path and reason name no record, so they may be shown to anyone.
class storage_error : public error {
  public:
    using error::error;
};

/// The whole file. Errors: bad_input where it does not exist, is a directory or can't be read.
std::string read_file(const std::filesystem::path& path);

/// Replaces `path` by `bytes`: a temporary file beside it is written, fsynced and renamed, then the directory is
/// fsynced. `mode` as for open(2). Errors: a full disk, a directory that can't be written (nothing is left behind).
void write_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

/// Makes the name of `entry` in its directory durable.
void sync_directory(const std::filesystem::path& entry);

/// A directory that only its owner can enter (mode 0700). Existing ones are set to 0700.
void create_private_directory(const std::filesystem::path& path);

/// A file that only grows, each append durable before it returns (fsync). Holds an exclusive lock: one writer.
class append_file {
  public:
    /// Opens or creates. Errors: bad_input if another process holds the lock.
    explicit append_file(const std::filesystem::path& path);
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

}  // namespace rldp
