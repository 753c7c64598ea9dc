#pragma once
// What lies in a directory. Errors: storage_error naming the directory (the standard's iterators name none where they
// fail midway).
#include <filesystem>
#include <vector>

namespace rldp {

std::vector<std::filesystem::directory_entry> list_entries(const std::filesystem::path& directory);

/// And in the directories below it. Links are not followed.
std::vector<std::filesystem::directory_entry> entries_below(const std::filesystem::path& directory);

}  // namespace rldp
