#pragma once
// What a reader may do with files from outside, whatever they hold.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace rldp::fuzz {

/// The bytes of an input as text.
inline std::string_view to_text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

/// This process's own directory below TMPDIR, which scripts/fuzz.sh puts into memory. Goes at exit.
const std::filesystem::path& directory();

/// Two files in one input: its first two bytes, little-endian, say how long the first of them is.
struct two_files {
    std::string_view first, second;
};
two_files split(const std::uint8_t* bytes, std::size_t size);

/// Writes a file there.
void write(const char* name, std::string_view bytes);

/// Runs `read` on files of `size` bytes in all, which it may accept or refuse. Ends the process unless the refusal is
/// bad_input in one printable line, "FILE: …" with a file of directory(), and unless the memory held at any moment is
/// within a small multiple of `size`.
void check_reading(std::size_t size, const std::function<void()>& read);

/// Ends the process unless `holds`.
void require(bool holds, const char* what);

}  // namespace rldp::fuzz
