#pragma once
#include <filesystem>

namespace rldp {

/// A directory of this process alone under TMPDIR, gone with all that lies in it when this ends.
class temporary_directory {
  public:
    /// Errors: storage_error where it can't be made.
    temporary_directory();
    ~temporary_directory();
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace rldp
