#pragma once
// "synthetic:N" or "synthetic:N@WORLD" in place of a path asks for N made-up records, which are nobody's.
#include <string>
#include <string_view>

namespace rldp {

inline constexpr std::string_view made_up_prefix = "synthetic:";

/// Whether `path` asks for made-up records; how many is checked where they are made.
inline bool is_made_up(const std::string& path) {
    return path.starts_with(made_up_prefix);
}

}  // namespace rldp
