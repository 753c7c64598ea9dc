#pragma once
// Directories: when what is in them was written, what lies in them, who uses them, and how one appears whole.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rldp {

// Times. Files that are handed on carry none: when each was written tells how long steps took, and so how large batches
// were (docs/privacy.md §7). tar, rsync and cp keep such times.

/// While it lives, what this process writes below `directory` shows one time, and so do the directories there. Best
/// effort: some file systems keep times of their own.
class fixed_time {
  public:
    /// `time`: seconds since 1970. Sets it for what is there already.
    fixed_time(const std::filesystem::path& directory, std::int64_t time);
    ~fixed_time();  ///< and once more for all of it: the last word on directories
    fixed_time(const fixed_time&) = delete;
    fixed_time& operator=(const fixed_time&) = delete;

    /// For those who write files: `written` was, or was put in place.
    static void apply(const std::filesystem::path& written);
    /// Sets the time of `directory` and everything in it.
    static void apply_to_all(const std::filesystem::path& directory, std::int64_t time);

  private:
    std::filesystem::path directory_;
    std::int64_t time_;
};

// Entries. What lies in a directory. Errors: storage_error naming the directory (the standard's iterators name none
// where they fail midway).

std::vector<std::filesystem::directory_entry> list_entries(const std::filesystem::path& directory);

/// And in the directories below it. Links are not followed.
std::vector<std::filesystem::directory_entry> entries_below(const std::filesystem::path& directory);

// Locks. Directories that are in use: whoever cleans up leaves them alone.

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

// Staged directories. One appears whole or not at all: made beside its place under a name of its own, renamed into it
// at the end. A process that is killed leaves it behind; whoever next makes the same directory, or cleans up, removes
// it. What is secret lies in a private directory inside it.

class staged_directory {
  public:
    /// Makes it, locked for as long as this lives, and first removes what killed processes left at `target`'s place; a
    /// slash at `target`'s end says nothing.
    /// Errors: bad_input where it can't be made.
    explicit staged_directory(const std::filesystem::path& target);
    /// Removes it unless it was settled.
    ~staged_directory();
    staged_directory(const staged_directory&) = delete;
    staged_directory& operator=(const staged_directory&) = delete;

    const std::filesystem::path& path() const { return partial_; }
    /// Makes its entries durable and puts it in place, durably. Errors: bad_input where something is there already.
    void settle();

    /// Of one at `target`'s place that several processes fill, `letters` being six: not made by this class, but whoever
    /// cleans up takes it for one, and leaves it to those who lock it.
    static std::filesystem::path shared_name(const std::filesystem::path& target, std::string_view letters);
    /// Whether `path` has the name of one.
    static bool is_one(const std::filesystem::path& path);
    /// Removes `path`, which is one, unless a living process still fills it; whether it did.
    static bool remove_abandoned(const std::filesystem::path& path);
    /// Removes what killed processes left at `target`'s place; what was removed.
    static std::vector<std::filesystem::path> remove_abandoned_of(const std::filesystem::path& target);

  private:
    std::filesystem::path target_, partial_;
    std::optional<directory_lock> lock_;
};

}  // namespace rldp
