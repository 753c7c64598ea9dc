#pragma once
// "synthetic:N" or "synthetic:N@WORLD" in place of a path asks for N made-up records, which are nobody's.
#include <string>
#include <string_view>

namespace rldp {

inline constexpr std::string_view synthetic_prefix = "synthetic:";

/// Whether `path` asks for made-up records; how many is checked where they are made.
inline bool is_synthetic(const std::string& path) {
    return path.starts_with(synthetic_prefix);
}

}  // namespace rldp
