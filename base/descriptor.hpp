#pragma once
// File descriptors, and what readers and writers of files share.
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace rldp {

/// A file descriptor that is closed with its owner.
class descriptor {
  public:
    descriptor() = default;
    explicit descriptor(int number) : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

  private:
    int number_ = -1;
};

// Writing. Internal: write(2) to the end, for the writers of files.

/// Whether all of `bytes` went out; else errno says why not.
bool write_all(int descriptor, std::string_view bytes);

// Kinds of files. Internal: what stands in a file's place, for the readers and writers of files.

/// Refuses what is no regular file by its kind, `mode` as stat(2) gives it.
[[noreturn]] void refuse_kind(const std::filesystem::path& path, unsigned mode);

}  // namespace rldp
