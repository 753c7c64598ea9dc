#pragma once
// Files of one line that holds a secret: a word, a space, 64 hexadecimal characters. What they are asked for is the
// same whatever the secret is for.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace rldp::privacy::detail {

/// False unless `hex` is as many lower-case hexadecimal characters as `out` needs.
bool from_hex(std::string_view hex, std::span<unsigned char> out);

/// A run directory is copied and handed on as a whole: no key may be in it, nor in a public side that stands alone.
/// Errors: bad_input where `path` lies in one. `what`: "signing key".
void refuse_inside_run(const std::filesystem::path& path, std::string_view what);

/// Before a secret is written. Errors: bad_input where the directory does not exist.
void require_directory_of(const std::filesystem::path& path);

/// How many bytes there were, at most `room`, of a file that only its owner can read. Errors: bad_input where others
/// can.
std::size_t read_private(const std::filesystem::path& path, std::string_view what, char* into, std::size_t room);

}  // namespace rldp::privacy::detail
