#pragma once
// Files that only grow: ledgers and logs.
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "config/base/files.hpp"

namespace rldp {

/// A file that only grows, each append durable before it returns (fsync). Holds an exclusive lock: one writer.
class append_file {
  public:
    /// Opens or creates; a new one's name is durable. Errors: bad_input if another process holds the lock and keeps it,
    /// and for what is no regular file.
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

/// Whether another process of this machine has it open to append. False for what is no file that can be read.
bool is_being_written(const std::filesystem::path& file);

}  // namespace rldp
