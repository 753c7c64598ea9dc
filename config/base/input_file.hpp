#pragma once
// Files that a user names, opened for reading: the one place where that happens.
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "config/base/files.hpp"

namespace rldp {

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

}  // namespace rldp
