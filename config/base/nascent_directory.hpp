#pragma once
// A directory that appears whole or not at all: made beside its place under a name of its own, renamed into it at the
// end. A process that is killed leaves it behind; whoever next makes the same directory, or cleans up, removes it.
// What is secret lies in a private directory inside it.
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "config/base/directory_lock.hpp"

namespace rldp {

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
