#pragma once
// Files too large to be put together in memory first.
#include <filesystem>
#include <functional>
#include <string_view>

namespace rldp {

using part_writer = std::function<void(std::string_view part)>;

/// As write_file() of files.hpp, of bytes that come in parts: `fill` is called once, with what writes the next. Where
/// it throws, nothing is left behind.
void write_in_parts(const std::filesystem::path& path, const std::function<void(const part_writer&)>& fill,
                    unsigned mode = 0644);

}  // namespace rldp
