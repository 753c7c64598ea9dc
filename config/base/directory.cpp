#include "config/base/directory.hpp"

#include "config/base/files.hpp"

namespace rldp {

namespace {

template <class Iterator>
std::vector<std::filesystem::directory_entry> all(const std::filesystem::path& directory) {
    std::vector<std::filesystem::directory_entry> out;
    std::error_code reason;
    for (Iterator at(directory, reason); !reason && at != Iterator(); at.increment(reason)) out.push_back(*at);
    if (reason) storage_fault(directory, "can't be listed", reason.value());
    return out;
}

}  // namespace

std::vector<std::filesystem::directory_entry> list_entries(const std::filesystem::path& directory) {
    return all<std::filesystem::directory_iterator>(directory);
}

std::vector<std::filesystem::directory_entry> entries_below(const std::filesystem::path& directory) {
    return all<std::filesystem::recursive_directory_iterator>(directory);
}

}  // namespace rldp
