#pragma once
// Where secrets are kept: in memory of their own, and in files that only their owner can read.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

namespace rldp::privacy {

// Locked memory. Never swapped out, in no core dump, between guard pages, zeroed when it is given back (docs/privacy.md
// §6).

namespace detail {
void* locked_allocate(std::size_t bytes);                      ///< errors: failed where there is no memory
void locked_release(void* block, std::size_t bytes) noexcept;  ///< zeroes it and keeps it for reuse
}  // namespace detail

template <class T>
struct locked_deleter {
    void operator()(T* block) const { detail::locked_release(block, sizeof(T)); }
};
template <class T>
using locked_ptr = std::unique_ptr<T, locked_deleter<T>>;

/// A zeroed T.
template <class T>
locked_ptr<T> make_locked() {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    return locked_ptr<T>(new (detail::locked_allocate(sizeof(T))) T{});
}

/// libsodium, which random bytes, keys and seals need. Errors: failed where the system gives no random bytes.
void start_sodium();

/// For the whole process, at its start: no core dump, and no other process of the same user may look inside.
void forbid_core_dumps();

/// Before a secret is written. Errors: bad_input where the directory does not exist.
void require_directory_of(const std::filesystem::path& path);

}  // namespace rldp::privacy

namespace rldp::privacy::detail {

// Secret files. One line each, which holds a secret: a word, a space, 64 hexadecimal characters. What they are asked
// for is the same whatever the secret is for.

/// False unless `hex` is as many lower-case hexadecimal characters as `out` needs.
bool from_hex(std::string_view hex, std::span<unsigned char> out);

/// A run directory is copied and handed on as a whole: no key may be in it, nor in a public side that stands alone.
/// Errors: bad_input where `path` lies in one. `what`: "signing key".
void refuse_inside_run(const std::filesystem::path& path, std::string_view what);

/// How many bytes there were, at most `room`, of a file that only its owner can read. Errors: bad_input where others
/// can.
std::size_t read_private(const std::filesystem::path& path, std::string_view what, char* into, std::size_t room);

}  // namespace rldp::privacy::detail
