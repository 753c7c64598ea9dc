#pragma once
// SHA-256 as our files write it.
#include <string>
#include <string_view>

namespace rldp::privacy {

/// Of `bytes`, 64 lower-case hexadecimal characters.
std::string sha256(std::string_view bytes);

}  // namespace rldp::privacy
