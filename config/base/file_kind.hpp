#pragma once
// What stands in a file's place. Internal to the readers and writers of files.
#include <filesystem>

namespace rldp {

/// Refuses what is no regular file by its kind, `mode` as stat(2) gives it.
[[noreturn]] void refuse_kind(const std::filesystem::path& path, unsigned mode);

}  // namespace rldp
