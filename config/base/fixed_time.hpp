#pragma once
// Files that are handed on carry no times: when each was written tells how long steps took, and so how large batches
// were (docs/privacy.md §7). tar, rsync and cp keep such times.
#include <cstdint>
#include <filesystem>

namespace rldp {

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

}  // namespace rldp
