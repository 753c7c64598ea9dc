#pragma once
// Directories that are in use: whoever cleans up leaves them alone.
#include <filesystem>
#include <optional>
#include <utility>

namespace rldp {

/// flock(2) on a directory, as long as this lives; it goes with the directory when that is renamed.
class directory_lock {
  public:
    enum class kind { shared, exclusive };

    /// Nothing where the directory is not there, is removed meanwhile, or others hold it otherwise. Errors:
    /// storage_error for everything else.
    static std::optional<directory_lock> take(const std::filesystem::path& path, kind how);
    ~directory_lock();
    directory_lock(directory_lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    directory_lock& operator=(directory_lock&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }

  private:
    explicit directory_lock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

}  // namespace rldp
