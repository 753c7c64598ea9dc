#pragma once
// SHA-256 as our files write it.
#include <array>
#include <string>
#include <string_view>

namespace rldp::privacy {

/// Of `bytes`, 64 lower-case hexadecimal characters.
std::string sha256(std::string_view bytes);

/// The same in half the room, and back.
using sha256_bytes = std::array<unsigned char, 32>;
sha256_bytes sha256_from(std::string_view hex);  ///< errors: failed unless it is one
std::string to_hex(const sha256_bytes& value);

}  // namespace rldp::privacy
