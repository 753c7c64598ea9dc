#pragma once
// A file descriptor that is closed with its owner.
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace rldp {

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

// write(2) to the end. Internal to the writers of files.

/// Whether all of `bytes` went out; else errno says why not.
bool write_all(int descriptor, std::string_view bytes);

// What stands in a file's place. Internal to the readers and writers of files.

/// Refuses what is no regular file by its kind, `mode` as stat(2) gives it.
[[noreturn]] void refuse_kind(const std::filesystem::path& path, unsigned mode);

}  // namespace rldp
